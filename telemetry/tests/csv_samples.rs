//! Sampled telemetry in CSV as users' tools write it; sources in `data/README.md`.
#![allow(clippy::unwrap_used)] // a test's way to fail

use enerinfer_telemetry::csv_samples::{ColumnMap, CsvOptions, CsvSamples};
use enerinfer_telemetry::{Row, SampleReader, Stamp, Tally, channel};

fn read(text: &[u8], map: &str) -> (Vec<String>, Vec<Row>, Tally) {
    read_with(text, &CsvOptions { map: ColumnMap::parse(map).unwrap(), device: None })
}

fn read_with(text: &[u8], options: &CsvOptions) -> (Vec<String>, Vec<Row>, Tally) {
    let mut reader = CsvSamples::new(text, options).unwrap();
    let (mut rows, mut row) = (Vec::new(), Row::default());
    while reader.read(&mut row).unwrap() {
        assert!(row.values.iter().all(|v| !v.is_infinite()));
        rows.push(row.clone());
    }
    let names = reader.channels().iter().map(|c| c.name.clone()).collect();
    assert!(channel(reader.channels(), "no such channel").is_none());
    (names, rows, reader.tally().clone())
}

fn value(names: &[String], row: &Row, name: &str) -> Option<f64> {
    row.get(names.iter().position(|n| n == name).unwrap_or_else(|| panic!("{name} {names:?}")))
}

#[test]
fn nvidia_smi_with_units_in_header_and_cells_and_text_for_no_value() {
    let (n, rows, tally) = read(include_bytes!("data/cases/nvml/smi_units.csv"), "");
    assert_eq!(rows.len(), 4);
    assert_eq!(value(&n, &rows[0], "gpu_board_mw"), Some(45230.0));
    assert_eq!(value(&n, &rows[0], "gpu_mhz"), Some(1500.0));
    assert_eq!(value(&n, &rows[0], "nvml_gpu_load"), Some(98.0));
    for r in &rows[1..] {
        assert_eq!(value(&n, r, "gpu_board_mw"), None);
    }
    assert_eq!(value(&n, &rows[2], "temp_gpu_c"), None);
    assert_eq!(value(&n, &rows[3], "gpu_mhz"), None);
    assert_eq!(tally.repaired, 3);
    assert!(matches!(rows[1].stamp, Stamp::Civil(_)));
}

#[test]
fn renamed_power_nodes_are_known_and_a_missing_one_is_not_zero() {
    for name in ["power.draw [W]", "average_power_draw", "instant_power_draw", "power_draw"] {
        let text = format!("timestamp,{name}\n2026/01/01 00:00:00.000,80.7\n");
        let (n, rows, _) = read(text.as_bytes(), "");
        assert_eq!(n.len(), 1);
        assert_eq!(rows[0].get(0), Some(80700.0), "{name}");
    }
    let (n, _, tally) = read(b"timestamp,temperature.gpu,power_reading\n1.0,50,3\n", "");
    assert_eq!(n, ["temp_gpu_c"]);
    assert!(tally.warnings.iter().any(|w| w.contains("power_reading")));
}

#[test]
fn a_second_gpu_is_not_mixed_in() {
    let (_, rows, tally) =
        read(b"timestamp,index,power.draw [W]\n1.0,0,10\n1.0,1,20\n2.0,0,11\n2.0,1,21\n", "");
    assert_eq!((rows.len(), tally.refused), (2, 2));
}

#[test]
fn an_energy_counter_wraps_or_loses_a_sample_and_never_runs_back() {
    let (n, rows, tally) = read(include_bytes!("data/cases/nvml/energy_counter_wrap.csv"), "");
    let energy: Vec<_> = rows.iter().map(|r| value(&n, r, "energy_j")).collect();
    assert_eq!(energy[..2], [Some(0.0), None]);
    assert!((energy[2].unwrap() - 262142.99).abs() < 1e-6);
    assert!((energy[3].unwrap() - 262142.99 - 0.82885).abs() < 1e-6);
    assert!(rows.iter().flat_map(|r| &r.values).all(|v| v.is_nan() || *v >= 0.0));
    assert_eq!(tally.repairs.iter().filter(|(k, _)| k.contains("range is unknown")).count(), 1);
    assert_eq!(rows[2].stamp, Stamp::Utc(20_000_000_000));
}

#[test]
fn ina3221_by_hwmon_names_and_by_rail_names() {
    let (n, rows, _) = read(b"t_ms,in1_input,curr1_input,power2_input\n0,5000,400,2500000\n", "");
    assert_eq!(value(&n, &rows[0], "rail1_mw"), Some(2000.0));
    assert_eq!(value(&n, &rows[0], "rail2_mw"), Some(2500.0));
    let (n, rows, _) =
        read(b"timestamp;VDD_IN_mV;VDD_IN_mA;VDD_SOC_mW\n1750000000.25;5000;1000;700\n", "");
    assert_eq!(value(&n, &rows[0], "vdd_in_mw"), Some(5000.0));
    assert_eq!(value(&n, &rows[0], "vdd_soc_mw"), Some(700.0));
    assert_eq!(rows[0].stamp, Stamp::Utc(1_750_000_000_250_000_000));
}

#[test]
fn a_measured_power_comes_before_volts_times_amps_in_any_order_of_columns() {
    for (header, cells) in [
        ("in1_input,curr1_input,power1_input", "5000,400,2100000"),
        ("power1_input,in1_input,curr1_input", "2100000,5000,400"),
        ("in1_input,power1_input,curr1_input", "5000,2100000,400"),
    ] {
        let (n, rows, tally) = read(format!("t_ms,{header}\n0,{cells}\n").as_bytes(), "");
        assert_eq!(n, ["rail1_mw"], "{header}");
        assert_eq!(value(&n, &rows[0], "rail1_mw"), Some(2100.0), "{header}");
        assert!(tally.warnings.is_empty(), "{header}: {:?}", tally.warnings);
    }
    // Two columns that both measure it are still named.
    let (_, _, tally) = read(b"t_ms,power1_input,rail1_mW\n0,2100000,2000\n", "");
    assert_eq!(tally.warnings.len(), 1, "{:?}", tally.warnings);
}

#[test]
fn a_clock_of_zero_is_no_value_as_in_tegrastats() {
    let log = b"timestamp, clocks.current.sm [MHz], clocks.current.memory [MHz], power.draw [W]\n\
        2025/06/15 10:00:00.000, 0 MHz, 405 MHz, 5.00 W\n\
        2025/06/15 10:00:00.010, 1300 MHz, 0, 0.00 W\n";
    let (n, rows, tally) = read(log, "");
    assert_eq!(value(&n, &rows[0], "gpu_mhz"), None);
    assert_eq!(value(&n, &rows[0], "mem_mhz"), Some(405.0));
    assert_eq!(value(&n, &rows[1], "mem_mhz"), None);
    // A power of 0 is one.
    assert_eq!(value(&n, &rows[1], "gpu_board_mw"), Some(0.0));
    assert_eq!(tally.repaired, 2);
    assert!(tally.repairs.iter().all(|(reason, _)| reason.contains("0 MHz")), "{tally:?}");
}

#[test]
fn byte_order_mark_and_crlf_do_not_hide_the_first_column() {
    let (n, rows, _) = read(
        include_bytes!("data/cases/csv/bom_crlf.csv"),
        "gpu_mhz=gpu_freq_mhz,total_mw=power_mw",
    );
    assert_eq!(rows.len(), 2);
    assert_eq!(value(&n, &rows[1], "gpu_mhz"), Some(1300.0));
    assert_eq!(value(&n, &rows[1], "total_mw"), Some(42000.0));
    let (n, _, _) = read(b"\xEF\xBB\xBFgpu_mhz,timestamp\r\n5,1.0\r\n", "");
    assert_eq!(n, ["gpu_mhz"]);
}

#[test]
fn a_column_map_says_what_names_do_not() {
    let (n, rows, _) =
        read(b"when,board power,x\n10,12.5,1\n20,13,1\n", "time=when:ms,total_mw=board power:W");
    assert_eq!(n, ["total_mw"]);
    assert_eq!(rows[1].get(0), Some(13000.0));
    assert_eq!(rows[1].stamp, Stamp::Utc(20_000_000));
    let missing = CsvOptions { map: ColumnMap::parse("total_mw=nope:W").unwrap(), device: None };
    assert!(CsvSamples::new(&b"a,b\n1,2\n"[..], &missing).is_err());
    assert!(ColumnMap::parse("total_mw").is_err());
    assert!(ColumnMap::parse("total_mw=x:furlong").is_err());
}

#[test]
fn torn_rows_are_refused_by_line() {
    let (_, rows, tally) = read(b"timestamp,vdd_in_mw\n1.0,5\n2.0\n3.0,6,7\nx,8\n", "");
    assert_eq!(rows.len(), 1);
    let lines: Vec<u64> = tally.refused_lines.iter().map(|r| r.line).collect();
    assert_eq!(lines, [3, 4, 5]);
}

#[test]
fn index_and_uuid_name_one_device_and_a_row_index_names_none() {
    let head = "timestamp, index, uuid, power.draw [W]\n";
    let rows = "2026/01/01 00:00:00, 0, GPU-a, 5 W\n2026/01/01 00:00:00, 1, GPU-b, 9 W\n\
                2026/01/01 00:00:01, 0, GPU-a, 6 W\n";
    let (names, found, tally) = read(format!("{head}{rows}").as_bytes(), "");
    let powers: Vec<_> = found.iter().map(|r| value(&names, r, "gpu_board_mw")).collect();
    assert_eq!((powers, tally.refused), (vec![Some(5000.0), Some(6000.0)], 1));
    for device in ["1", "GPU-b"] {
        let options = CsvOptions { device: Some(device.to_owned()), ..CsvOptions::default() };
        let (names, found, tally) = read_with(format!("{head}{rows}").as_bytes(), &options);
        assert_eq!(value(&names, &found[0], "gpu_board_mw"), Some(9000.0), "{device}");
        assert_eq!((found.len(), tally.refused), (1, 2));
    }
    let (names, found, _) = read(b"index,t_s,board_w\n0,1,5\n1,2,6\n2,3,7\n", "");
    assert_eq!((found.len(), value(&names, &found[2], "board_mw")), (3, Some(7000.0)));
}

#[test]
fn semicolons_come_with_decimal_commas() {
    let (names, rows, _) = read(b"time_s;power_w;gpu_mhz\n1,5;12,25;306\n2,5;13;306\n", "");
    assert_eq!(rows[0].stamp, Stamp::Utc(1_500_000_000));
    assert_eq!(value(&names, &rows[0], "power_mw"), Some(12250.0));
    assert_eq!(value(&names, &rows[1], "power_mw"), Some(13000.0));
}

#[test]
fn times_are_known_by_name_and_unit() {
    for (name, cell) in [
        ("epoch_s", "1.5"),
        ("epoch", "1.5"),
        ("Elapsed [ms]", "1500"),
        ("timestamp_us", "1500000"),
        ("Unix_Time (ns)", "1500000000"),
    ] {
        let (_, rows, tally) = read(format!("{name},power_w\n{cell},5\n").as_bytes(), "");
        assert_eq!(rows[0].stamp, Stamp::Utc(1_500_000_000), "{name}: {:?}", tally.warnings);
    }
}

#[test]
fn voltage_and_current_are_a_power_and_a_measured_one_is_better() {
    let (names, rows, _) = read(b"t_s,voltage_mv,current_ma\n1,5000,1000\n2,5000,\n", "");
    assert_eq!(names, ["power_mw"]);
    assert_eq!(value(&names, &rows[0], "power_mw"), Some(5000.0));
    assert_eq!(value(&names, &rows[1], "power_mw"), None);
    for columns in ["power_mw,voltage_mv,current_ma", "voltage_mv,current_ma,power_mw"] {
        let cells = if columns.starts_with('p') { "4800,5000,1000" } else { "5000,1000,4800" };
        let (names, rows, tally) = read(format!("t_s,{columns}\n1,{cells}\n").as_bytes(), "");
        assert_eq!(value(&names, &rows[0], "power_mw"), Some(4800.0), "{columns} {tally:?}");
    }
}

#[test]
fn values_that_no_device_has_are_no_values() {
    let (names, rows, tally) = read(
        b"t_s,power_w,gpu_mhz,temp_c,gpu_util\n1,1e9,306,50,5\n2,5,306000000,50,5\n\
         3,5,306,999,5\n4,5,306,50,-1\n5,-0.4,306,-20,100\n",
        "",
    );
    let missing: Vec<usize> =
        rows.iter().map(|r| r.values.iter().filter(|v| v.is_nan()).count()).collect();
    assert_eq!(missing, [1, 1, 1, 1, 0], "{names:?}");
    assert_eq!(tally.repaired, 4);
}

#[test]
fn a_counter_that_was_set_back_has_not_wrapped() {
    // 9 mJ after 10 mJ: across the whole range it would be 262 kJ in a second.
    let (names, rows, tally) = read(
        b"t_s,energy_uj,max_energy_range_uj\n1,10000,262143328850\n2,9000,262143328850\n\
         3,19000,262143328850\n",
        "",
    );
    assert_eq!(value(&names, &rows[1], "energy_mw"), None);
    assert_eq!(value(&names, &rows[2], "energy_mw"), Some(10.0));
    assert_eq!(tally.repaired, 1);
}
