//! Every board and JetPack that users have sent logs of; sources in `data/README.md`.
#![allow(clippy::unwrap_used)] // a test's way to fail

use enerinfer_telemetry::tegrastats::{Board, PowerTotal, Tegrastats};
use enerinfer_telemetry::{Clock, Row, SampleReader, Stamp, Zone, channel};

struct Log {
    channels: Vec<String>,
    rows: Vec<Row>,
    reader: Tegrastats<&'static [u8]>,
}

fn read(text: &'static [u8]) -> Log {
    let mut reader = Tegrastats::new(text);
    let (mut rows, mut row) = (Vec::new(), Row::default());
    while reader.read(&mut row).unwrap() {
        assert!(row.values.iter().all(|v| !v.is_infinite()));
        rows.push(row.clone());
    }
    let channels = reader.channels().iter().map(|c| c.name.clone()).collect();
    Log { channels, rows, reader }
}

impl Log {
    fn get(&self, row: usize, name: &str) -> Option<f64> {
        let i = channel(self.reader.channels(), name)
            .unwrap_or_else(|| panic!("no channel {name} in {:?}", self.channels));
        self.rows[row].get(i)
    }

    fn has(&self, name: &str) -> bool {
        self.channels.iter().any(|c| c == name)
    }

    fn repaired(&self, what: &str) -> u64 {
        let repairs = &self.reader.tally().repairs;
        repairs.iter().filter(|(k, _)| k.contains(what)).map(|(_, n)| n).sum()
    }
}

macro_rules! log {
    ($name:literal) => {
        read(include_bytes!(concat!("data/cases/tegrastats/", $name)))
    };
}

#[test]
fn thor_without_root_has_no_gpu_field_limits_on_temperatures_and_negative_power() {
    let log = log!("thor_jp7_nosudo.log");
    assert_eq!((log.reader.board(), log.rows.len()), (Some(Board::Thor), 2));
    assert_eq!(log.get(0, "vdd_gpu_mw"), Some(-392.0));
    assert_eq!(log.repaired("negative power"), 1);
    assert_eq!(log.get(0, "temp_cpu_c"), Some(53.7));
    assert_eq!(log.get(0, "temp_gpu_c"), None);
    assert_eq!(log.get(1, "temp_gpu_c"), Some(62.906));
    assert!(!log.has("gpu_load") && !log.has("emc_load"));
    assert_eq!(log.get(0, "total_mw"), Some(23010.0));
    assert_eq!(log.reader.tally().refused, 0);
}

#[test]
fn orin_nx_has_units_two_gpu_clusters_and_an_input_rail() {
    let log = log!("orin_nx_jp5.log");
    assert_eq!(log.reader.board(), Some(Board::Nx));
    assert_eq!(log.get(0, "vdd_in_mw"), Some(5299.0));
    assert_eq!(log.get(0, "vdd_in_avg_mw"), Some(5299.0));
    assert_eq!(log.get(0, "gpu_mhz"), Some(611.0));
    assert_eq!(log.get(0, "gpu2_load"), Some(0.0));
    // 0 MHz means gated, not a clock.
    assert_eq!(log.get(0, "gpu2_mhz"), None);
    assert_eq!(log.repaired("0 MHz"), 1);
    assert_eq!(log.get(0, "vic_mhz"), Some(729.0));
    assert_eq!(log.get(0, "cpu_online"), Some(4.0));
    assert_eq!(log.get(0, "total_mw"), Some(5299.0));
}

#[test]
fn tx2_has_no_units_and_keeps_zero_rails() {
    let log = log!("tx2_jp4.log");
    assert_eq!(log.reader.board(), Some(Board::Tx2));
    assert_eq!(log.get(0, "vdd_sys_gpu_mw"), Some(182.0));
    assert_eq!(log.get(0, "temp_gpu_c"), Some(51.5));
    assert_eq!(log.get(0, "vdd_4v0_wifi_mw"), Some(0.0));
    assert_eq!(log.get(0, "total_mw"), Some(4535.0));
    // Without root: no clocks behind the loads, cores off.
    assert_eq!(log.get(1, "emc_load"), Some(0.0));
    assert_eq!(log.get(1, "emc_mhz"), None);
    assert_eq!(log.get(1, "gpu_mhz"), None);
    assert_eq!(log.get(1, "cpu1_load"), None);
    assert_eq!(log.get(1, "cpu_online"), Some(4.0));
    assert_eq!(log.get(1, "total_mw"), None);
    assert_eq!(log.rows[0].stamp, Stamp::Absent);
}

#[test]
fn nano_total_is_its_input_rail_and_frost_is_no_fault() {
    let log = log!("nano_jp4_subzero.log");
    assert_eq!(log.reader.board(), Some(Board::Nano));
    assert_eq!(log.get(0, "total_mw"), Some(1828.0));
    assert_eq!(log.get(1, "temp_gpu_c"), Some(-5.5));
    assert_eq!(log.reader.tally().repaired, 0);
}

#[test]
fn gated_sensors_have_no_value_and_are_counted() {
    let log = log!("orin_agx_jp5_gated.log");
    assert_eq!(log.get(0, "temp_gpu_c"), None);
    assert_eq!(log.get(0, "temp_cv0_c"), None);
    assert_eq!(log.get(0, "temp_cpu_c"), Some(41.5));
    assert_eq!(log.repaired("gated (-256"), 1);
    assert_eq!(log.get(0, "cpu_online"), Some(8.0));
}

#[test]
fn orin_without_root_has_no_memory_clock_and_a_torn_line_gives_what_it_has() {
    let log = log!("orin_agx_jp6_hydra.log");
    assert_eq!((log.rows.len(), log.reader.tally().repaired), (3, 1));
    assert_eq!(log.get(0, "emc_mhz"), Some(3199.0));
    assert_eq!(log.get(0, "gpu_gpc2_mhz"), Some(1299.0));
    assert_eq!(log.get(1, "emc_load"), None);
    assert_eq!(log.get(1, "ram_lfb_mb"), Some(0.5));
    assert_eq!(log.get(1, "cpu8_load"), None);
    assert_eq!(log.get(2, "ram_used_mb"), Some(9000.0));
    assert_eq!(log.get(2, "swap_used_mb"), None);
    assert_eq!(log.repaired("torn line"), 1);
}

#[test]
fn xavier_sums_its_rails_with_and_without_units() {
    let log = log!("xavier_agx_jp4_jp5.log");
    assert_eq!(log.reader.board(), Some(Board::XavierAgx));
    for row in 0..2 {
        assert_eq!(log.get(row, "gpu_mw"), Some(9210.0));
        assert_eq!(log.get(row, "total_mw"), Some(18150.0));
        assert_eq!(log.get(row, "gpu_mhz"), Some(1377.0));
    }
    assert_eq!(Board::XavierAgx.total().to_string(), "sum:GPU+CPU+SOC+CV+VDDRQ+SYS5V");
    assert_ne!(Board::XavierAgx.total(), Board::OrinAgx.total());
    assert_eq!(Board::Nx.total(), PowerTotal::Input("VDD_IN"));
}

#[test]
fn absent_nvml_is_no_value() {
    let log = log!("thor_jp7_sudo_nvml.log");
    assert_eq!(log.get(0, "nvml_gpu_load"), Some(98.0));
    assert_eq!(log.get(1, "nvml_gpu_load"), None);
    assert_eq!(log.get(1, "nvml_mem_load"), None);
    assert_eq!(log.get(0, "gpu_mhz"), Some(1575.0));
    assert_eq!(log.get(0, "gpu_gpc3_mhz"), Some(1574.0));
}

#[test]
fn the_hour_that_stands_twice_runs_on() {
    let log = log!("orin_agx_dst.log");
    let mut clock = Clock::new(Zone::parse("America/New_York").unwrap());
    let utc: Vec<i64> = log.rows.iter().map(|r| clock.resolve(r.stamp).unwrap()).collect();
    assert_eq!(utc[1] - utc[0], 1_000_000_000);
    assert_eq!(utc[2] - utc[1], 1_000_000_000);
}

#[test]
fn refused_lines_are_named() {
    let log = read(
        b"06-15-2025 10:00:00.5 RAM 1/2MB (lfb 1x4MB) CPU [1%@100] VDD_X 5mW/5mW\n\
          \n\
          06-15-2025 10:0\n\
          13-15-2025 10:00:00.5 RAM 1/2MB\n\
          06-15-2025 10:00:00 RAM 1/2MB\n\
          06-15-2025 10:00:01.5 nothing here\n",
    );
    let t = log.reader.tally();
    assert_eq!((t.accepted, t.refused), (1, 5));
    let lines: Vec<u64> = t.refused_lines.iter().map(|r| r.line).collect();
    assert_eq!(lines, [2, 3, 4, 5, 6]);
    assert!(t.warnings.iter().any(|w| w.contains("VDD_X")));
}

#[test]
fn a_loggers_prefix_gives_the_time_or_is_passed_over() {
    const BODY: &str = "RAM 9021/62841MB (lfb 3x4MB) CPU [12%@1029] VDD_IN 5000mW/5000mW";
    const OWN: &str = "06-15-2026 10:00:04";
    let utc = Stamp::Utc(1_781_517_604_500_000_000);
    let civil = Stamp::Civil(1_781_517_604_000_000_000);
    for (prefix, stamp) in [
        ("2026-06-15T10:00:04.5Z ", utc),
        ("[2026-06-15 12:00:04.500+02:00]: ", utc),
        ("1781517604.5 ", utc),
        ("2026-06-15T10:00:04.5Z 06-15-2026 12:00:04 ", utc),
        ("2026/06/15 10:00:04 ", civil),
        ("Jun 15 10:00:04 host tegrastats[77]: ", Stamp::Absent),
        ("\u{1b}[0m06-15-2026 10:00:04 ", civil),
        ("", Stamp::Absent),
    ] {
        let l = read(format!("{prefix}{BODY}\n").leak().as_bytes());
        assert_eq!(l.rows[0].stamp, stamp, "{prefix}");
        assert_eq!(l.get(0, "vdd_in_mw"), Some(5000.0), "{prefix}");
        assert_eq!(l.channels.len(), 9, "{prefix}: {:?}", l.channels);
    }
    assert_eq!(read(format!("host: {OWN} {BODY}\n").leak().as_bytes()).rows[0].stamp, civil);
}

#[test]
fn readings_that_no_board_has_are_no_values() {
    let l = read(
        b"RAM 1/2MB CPU [1%@1029] cpu@300C gpu@-40C VDD_IN 99999999999mW/5mW VDD_SOC 5mW/5mW\n",
    );
    assert_eq!((l.get(0, "temp_cpu_c"), l.get(0, "temp_gpu_c")), (None, Some(-40.0)));
    assert_eq!((l.get(0, "vdd_in_mw"), l.get(0, "vdd_in_avg_mw")), (None, Some(5.0)));
    assert_eq!(l.repaired("beyond what a device can have: no value"), 1);
}
