//! Xavier in mode `hydra` where no output of the original is at hand: values worked out by hand
//! from its rules (columns, windows closed at both ends, mean and sample deviation, New York time).
#![allow(clippy::unwrap_used)] // a test's way to fail

use enerinfer_telemetry::TextTable;
use enerinfer_telemetry::hydra::canonical::Canonical;
use enerinfer_telemetry::hydra::corpus::Corpus;
use enerinfer_telemetry::hydra::{HydraParser, HydraPlatform, LineFault, ParsedLine, unify_file};

/// A line of JetPack 5 with root, after its stamp.
const BODY: &str = "RAM 9050/31002MB (lfb 7x4MB) SWAP 12/15501MB (cached 1MB) \
CPU [12%@2565,6%@2265,7%@2265,4%@2265,8%@2265,16%@2265,30%@2565,6%@2565] EMC_FREQ 40%@2133 \
GR3D_FREQ 50%@[1377] VIC_FREQ 0%@115 APE 150 AUX@53.0C CPU@54.5C thermal@54.35C Tboard@46.5C \
AO@52.5C GPU@55.5C Tdiode@49.25C PMIC@50C GPU 14311mW/14304mW CPU 2017mW/2020mW SOC 2300mW/2290mW \
CV 11mW/12mW VDDRQ 1029mW/1030mW SYS5V 3087mW/3086mW";

/// 10:00 of 2025-01-20 in New York.
const STAMP: &str = "01-20-2025 10:00:00.000000005";
const STAMP_NS: i64 = 1_737_385_200_000_000_005;

fn parse(line: &str) -> Result<ParsedLine, LineFault> {
    let mut out = ParsedLine::default();
    HydraParser::new(HydraPlatform::Xavier).unwrap().parse(line.as_bytes(), &mut out)?;
    Ok(out)
}

/// Cells by name; NaN is an empty one.
fn cells(body: &str) -> Vec<(String, f64)> {
    let line = parse(&format!("{STAMP} {body}")).unwrap();
    assert!(line.text_cells.is_empty());
    HydraPlatform::Xavier.columns(line.cores).into_iter().zip(line.cells).collect()
}

#[test]
fn a_whole_line_gives_51_cells_in_order() {
    let empty = f64::NAN;
    let expected = [
        ("ram_used", 9050.0),
        ("ram_total", 31002.0),
        ("ram_lfb_count", 7.0),
        ("ram_lfb_size", 4.0),
        ("swap_used", 12.0),
        ("swap_total", 15501.0),
        ("swap_cached", 1.0),
        ("cpu_0_load", 12.0),
        ("cpu_0_freq", 2565.0),
        ("cpu_1_load", 6.0),
        ("cpu_1_freq", 2265.0),
        ("cpu_2_load", 7.0),
        ("cpu_2_freq", 2265.0),
        ("cpu_3_load", 4.0),
        ("cpu_3_freq", 2265.0),
        ("cpu_4_load", 8.0),
        ("cpu_4_freq", 2265.0),
        ("cpu_5_load", 16.0),
        ("cpu_5_freq", 2265.0),
        ("cpu_6_load", 30.0),
        ("cpu_6_freq", 2565.0),
        ("cpu_7_load", 6.0),
        ("cpu_7_freq", 2565.0),
        ("emc_load", 40.0),
        ("emc_freq", 2133.0),
        ("gpu1_load", 50.0),
        ("gpu1_freq", 1377.0),
        ("gpu2_load", empty),
        ("gpu2_freq", empty),
        ("nvjpg1", empty),
        // The load stands where the clock is looked for.
        ("vic_freq", 0.0),
        ("ape", 150.0),
        ("cv0", 11.0),
        ("cv1", empty),
        ("cv2", empty),
        ("cpu_temp", 54.5),
        ("tboard_temp", 46.5),
        ("tdiode_temp", 49.25),
        ("soc_0_temp", empty),
        ("soc_1_temp", empty),
        ("soc_2_temp", empty),
        ("gpu_temp", 55.5),
        ("tj_temp", empty),
        ("vdd_gpu_soc_cur", 14311.0),
        ("vdd_gpu_soc_avg", 14304.0),
        ("vdd_cpu_cv_cur", 2017.0),
        ("vdd_cpu_cv_avg", 2020.0),
        ("sys5v0_cur", 3087.0),
        ("sys5v0_avg", 3086.0),
        ("vddq_vdd2_1v8ao_cur", 1029.0),
        ("vddq_vdd2_1v8ao_avg", 1030.0),
    ];
    let found = cells(BODY);
    assert_eq!(found.len(), expected.len());
    for ((name, value), (expected_name, expected_value)) in found.iter().zip(expected) {
        assert_eq!(name, expected_name);
        assert!(value.total_cmp(&expected_value).is_eq(), "{name}: {value}");
    }
}

#[test]
fn what_a_line_lacks_or_prints_otherwise_changes_its_own_cells_only() {
    let whole = cells(BODY);
    // Part of the line, what stands there instead, and the cells that follow (None: empty).
    type Change<'a> = (&'a str, &'a str, &'a [(&'a str, Option<f64>)]);
    const NO_RAM: &[(&str, Option<f64>)] =
        &[("ram_used", None), ("ram_total", None), ("ram_lfb_count", None), ("ram_lfb_size", None)];
    const NO_GPU: &[(&str, Option<f64>)] = &[("gpu1_load", None), ("gpu1_freq", None)];
    let changes: &[Change<'_>] = &[
        ("RAM 9050/31002MB (lfb 7x4MB)", "", NO_RAM),
        ("7x4MB", "7x256kB", NO_RAM),
        (
            "SWAP 12/15501MB (cached 1MB)",
            "",
            &[("swap_used", None), ("swap_total", None), ("swap_cached", None)],
        ),
        (
            "6%@2565]",
            "off]",
            &[("cpu_7_load", Some(f64::INFINITY)), ("cpu_7_freq", Some(f64::INFINITY))],
        ),
        ("EMC_FREQ 40%@2133", "", &[("emc_load", None), ("emc_freq", None)]),
        ("40%@2133", "40%", &[("emc_freq", None)]),
        ("40%@2133", "40", &[("emc_freq", None)]),
        ("40%@2133", "107%@2133", &[("emc_load", Some(107.0))]),
        ("50%@[1377]", "50%@1377", NO_GPU),
        ("50%@[1377]", "@[1377]", NO_GPU),
        ("50%@[1377]", "50%@[1377,1376]", NO_GPU),
        (
            "GR3D_FREQ",
            "GR3D2_FREQ 7%@[900] GR3D_FREQ",
            &[("gpu2_load", Some(7.0)), ("gpu2_freq", Some(900.0))],
        ),
        ("VIC_FREQ 0%@115", "VIC_FREQ 115", &[("vic_freq", Some(115.0))]),
        ("VIC_FREQ 0%@115", "VIC_FREQ off", &[("vic_freq", None)]),
        ("APE 150", "APE 150 NVJPG1 115", &[("nvjpg1", Some(115.0))]),
        ("APE 150", "", &[("ape", None)]),
        ("GPU@55.5C", "GPU@-256C", &[("gpu_temp", Some(-256.0))]),
        ("CPU@54.5C", "cpu@54.5C", &[("cpu_temp", None)]),
        (
            "AUX@53.0C",
            "SOC0@51.5C SOC2@9C tj@56C CV1@40C",
            &[
                ("soc_0_temp", Some(51.5)),
                ("soc_2_temp", Some(9.0)),
                ("tj_temp", Some(56.0)),
                ("cv1", Some(40.0)),
            ],
        ),
        // The SoC rail is not read; one that is not printed is empty, not 0.
        ("SOC 2300mW/2290mW", "", &[]),
        ("CV 11mW/12mW", "", &[("cv0", None)]),
        ("CV 11mW/12mW", "CV 0mW/0mW", &[("cv0", Some(0.0))]),
        ("GPU 14311mW/14304mW", "", &[("vdd_gpu_soc_cur", None), ("vdd_gpu_soc_avg", None)]),
        // JetPack 4 prints no unit.
        (
            "CPU 2017mW/2020mW",
            "CPU 2017/2020",
            &[("vdd_cpu_cv_cur", None), ("vdd_cpu_cv_avg", None)],
        ),
        // Torn after the first value, and before the last unit.
        (" SYS5V 3087mW/3086mW", " SYS5V 3087mW/", &[("sys5v0_cur", None), ("sys5v0_avg", None)]),
        (
            " SYS5V 3087mW/3086mW",
            " SYS5V 3087mW/3086",
            &[("sys5v0_cur", None), ("sys5v0_avg", None)],
        ),
        (
            "VDDRQ 1029mW/1030mW SYS5V 3087mW/3086mW",
            "VDDRQ 10",
            &[
                ("vddq_vdd2_1v8ao_cur", None),
                ("vddq_vdd2_1v8ao_avg", None),
                ("sys5v0_cur", None),
                ("sys5v0_avg", None),
            ],
        ),
    ];
    for (old, new, differing) in changes {
        let body = BODY.replacen(old, new, 1);
        assert!(body != BODY, "{old}");
        for ((name, value), (_, before)) in cells(&body).iter().zip(&whole) {
            let expected = match differing.iter().find(|(n, _)| n == name) {
                Some((_, after)) => after.unwrap_or(f64::NAN),
                None => *before,
            };
            assert!(value.total_cmp(&expected).is_eq(), "{old} → {new}: {name} is {value}");
        }
    }
}

#[test]
fn lines_are_skipped_or_end_the_file_as_in_the_original() {
    let cpu = BODY.find("EMC").unwrap();
    for (line, skipped) in [
        (String::new(), true),
        (STAMP[..19].to_owned(), true),
        (format!("{} {BODY}", &STAMP[..19]), true),
        (format!("13-20-2025 10:00:00.5 {BODY}"), true),
        (format!("{STAMP} {}", BODY.replace("GPU@55.5C", "GPU@x5.5C")), true),
        (format!("{STAMP} {BODY} NVJPG1 off"), true),
        (format!("{STAMP} {}", BODY.replace("CPU [", "cores [")), false),
        (format!("{STAMP} {}", &BODY[..cpu - 20]), false),
    ] {
        match parse(&line) {
            Err(LineFault::Value(_)) => assert!(skipped, "{line}"),
            Err(LineFault::Index(_)) => assert!(!skipped, "{line}"),
            Ok(_) => panic!("{line}"),
        }
    }
    // Torn behind the CPU list: accepted, whatever is missing.
    assert!(parse(&format!("{STAMP} {}", &BODY[..cpu])).is_ok());
}

#[test]
fn stamps_are_new_york_time() {
    for (stamp, ns) in [
        (STAMP, STAMP_NS),
        // A fraction is filled up to nanoseconds; tegrastats' own stamp has none.
        ("01-20-2025 10:00:00 01-20-2025 10:00:00.5", 1_737_385_200_500_000_000),
        ("06-15-2025 10:00:00.25", 1_749_996_000_250_000_000),
        // The hour that does not exist, as if before the change; the one that stands twice, the
        // first time.
        ("03-09-2025 02:30:00.000000001", 1_741_505_400_000_000_001),
        ("11-02-2025 01:30:00.000000001", 1_762_061_400_000_000_001),
    ] {
        assert_eq!(parse(&format!("{stamp} {BODY}")).unwrap().timestamp_ns, ns, "{stamp}");
    }
}

/// A sample `ms` after [`STAMP`]'s second, with its GPU rail.
fn sample(ms: i64, gpu_mw: u32) -> String {
    let body = BODY.replace("GPU 14311mW/14304mW", &format!("GPU {gpu_mw}mW/{gpu_mw}mW"));
    format!("01-20-2025 10:00:{:02}.{:03} {body}\n", ms / 1000, ms % 1000)
}

/// A prompt from `start` to `end`, ms, that ends its prefill at `split`.
fn prompt(number: u32, [start, split, end]: [i64; 3]) -> String {
    let ns = |ms: i64| (STAMP_NS - 5) + ms * 1_000_000;
    let prefill = (split - start) as f64 / 1e3 - 0.0625;
    format!("{number},{},{},m,nan,0.0625,{prefill},0.00001\n", ns(start), ns(end))
}

const INFO: &str =
    "prompt_number,start_time,end_time,model_name,variance,tokenization_time,prefill_time,small\n";

fn unify(prompts: &[(u32, [i64; 3])], log: &str) -> Result<TextTable, String> {
    let rows: String = prompts.iter().map(|(n, times)| prompt(*n, *times)).collect();
    unify_rows(&rows, log)
}

fn unify_rows(rows: &str, log: &str) -> Result<TextTable, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("INFO"), format!("{INFO}{rows}")).unwrap();
    std::fs::write(path("TGS"), log).unwrap();
    unify_file(HydraPlatform::Xavier, &path("INFO"), &path("TGS"), &path("UNIFIED"), |_| Ok(()))
        .map(|_| TextTable::open(&path("UNIFIED")).unwrap())
        .map_err(|e| e.to_string())
}

fn cell<'a>(table: &'a TextTable, row: usize, column: &str) -> &'a str {
    &table.rows[row][table.require(column).unwrap()]
}

/// Mean and deviation of the GPU rail in prompt, prefill and decode.
fn gpu(table: &TextTable, row: usize) -> [[&str; 2]; 3] {
    ["prompt", "prefill", "decode"].map(|phase| {
        ["mean", "std"].map(|s| cell(table, row, &format!("vdd_gpu_soc_cur_{phase}_{s}")))
    })
}

#[test]
fn windows_are_closed_at_both_ends() {
    // Samples 1 ms before the start, at the start, the split and the end, and 1 ms after the end.
    let log: String = [(999, 1), (1000, 10), (1125, 20), (2000, 60), (2001, 1)]
        .map(|(ms, mw)| sample(ms, mw))
        .concat();
    let table = unify(&[(1, [1000, 1125, 2000])], &log).unwrap();
    // 10 20 60: mean 30, squares 400 + 100 + 900 over 2; 10 20; 20 60.
    assert_eq!(
        gpu(&table, 0),
        [
            ["30.0", "26.457513110645905"],
            ["15.0", "7.0710678118654755"],
            ["40.0", "28.284271247461902"],
        ]
    );
    // Window indices are averaged too: of the three samples of the prompt the last is in no
    // prefill (−1) and the first in no decode.
    let third = "-0.3333333333333333";
    assert_eq!(cell(&table, 0, "prefill_id_prompt_mean"), third);
    assert_eq!(cell(&table, 0, "decode_id_prompt_mean"), third);
    assert_eq!(cell(&table, 0, "decode_id_prefill_mean"), "-0.5");
    assert_eq!(cell(&table, 0, "prompt_id_decode_mean"), "0.0");
    // The timing's own cells as pandas writes them.
    assert_eq!(table.rows[0][3..8], ["m", "", "0.0625", "0.0625", "1e-05"]);
}

#[test]
fn the_end_of_prefill_is_cut_to_whole_nanoseconds() {
    // (0.001 + 0.0012) · 10⁹ is 2199999.9999999995 in doubles.
    let start = STAMP_NS - 5;
    let row = format!("1,{start},{},m,0,0.001,0.0012,0\n", start + 10_000_000);
    let log = [(2_199_999, 1), (2_200_000, 2)]
        .map(|(ns, mw)| sample(0, mw).replace("10:00:00.000", &format!("10:00:00.{ns:09}")));
    let table = unify_rows(&row, &log.concat()).unwrap();
    assert_eq!(gpu(&table, 0)[1..], [["1.0", ""], ["1.5", "0.7071067811865476"]]);
}

#[test]
fn columns_stand_in_six_blocks() {
    let table = unify(&[(1, [1000, 1125, 2000])], &sample(1000, 10)).unwrap();
    // As in the original: 52 parsed columns and two indices in each block, after the timing's.
    assert_eq!(table.header.len(), 8 + 6 * 54);
    for (block, (phase, statistic, first, second)) in [
        ("prompt", "mean", "prefill", "decode"),
        ("prompt", "std", "prefill", "decode"),
        ("prefill", "mean", "prompt", "decode"),
        ("prefill", "std", "prompt", "decode"),
        ("decode", "mean", "prompt", "prefill"),
        ("decode", "std", "prompt", "prefill"),
    ]
    .into_iter()
    .enumerate()
    {
        let names = &table.header[8 + block * 54..][..54];
        assert_eq!(names[0], format!("timestamp_{phase}_{statistic}"));
        assert_eq!(names[1], format!("ram_used_{phase}_{statistic}"));
        assert_eq!(names[51], format!("vddq_vdd2_1v8ao_avg_{phase}_{statistic}"));
        assert_eq!(names[52], format!("{first}_id_{phase}_{statistic}"));
        assert_eq!(names[53], format!("{second}_id_{phase}_{statistic}"));
    }
}

#[test]
fn windows_of_one_sample_or_none_and_prompts_out_of_order() {
    // Prompt 3 stands first in the table and last in time; prompt 2 has no sample at all.
    let prompts = [(3, [5000, 5125, 6000]), (1, [1000, 1125, 2000]), (2, [3000, 3125, 4000])];
    let log = [(1500, 7), (2500, 99), (5100, 8), (5500, 9)].map(|(ms, mw)| sample(ms, mw));
    let table = unify(&prompts, &log.concat()).unwrap();
    let numbers: Vec<&str> = table.rows.iter().map(|r| r[0].as_str()).collect();
    assert_eq!(numbers, ["3", "1", "2"]);
    assert_eq!(gpu(&table, 0), [["8.5", "0.7071067811865476"], ["8.0", ""], ["9.0", ""]]);
    assert_eq!(gpu(&table, 1), [["7.0", ""], ["", ""], ["7.0", ""]]);
    assert!(table.rows[2][8..].iter().all(String::is_empty));
    // The index is that of the row, not the prompt's number.
    assert_eq!(cell(&table, 1, "prompt_id_decode_mean"), "1.0");
    // The order of the samples is of no matter, nor where in the log a line is that is skipped.
    let [a, b, c, d] = &log;
    let shuffled = unify(&prompts, &[d, c, "\n", a, b].map(String::from).concat()).unwrap();
    assert_eq!(shuffled, table);
}

#[test]
fn an_empty_cell_is_left_out_and_a_core_that_is_off_is_infinite() {
    let log = [
        sample(1200, 10).replace("EMC_FREQ 40%@2133", "EMC_FREQ 41%"),
        sample(1300, 20).replace("CPU [12%@2565", "CPU [off"),
        sample(1400, 30).replace("GPU 30mW/30mW", ""),
    ];
    let table = unify(&[(1, [1000, 1125, 2000])], &log.concat()).unwrap();
    for (column, value) in [
        ("vdd_gpu_soc_cur_decode_mean", "15.0"),
        ("emc_load_decode_mean", "40.333333333333336"),
        ("emc_freq_decode_mean", "2133.0"),
        ("emc_freq_decode_std", "0.0"),
        ("cpu_0_load_decode_mean", "inf"),
        ("cpu_0_load_decode_std", ""),
        ("cpu_1_load_decode_mean", "6.0"),
        // Never printed: kept, and empty.
        ("gpu2_load_decode_mean", ""),
    ] {
        assert_eq!(cell(&table, 0, column), value, "{column}");
    }
}

#[test]
fn what_fails_the_file() {
    let log = sample(1500, 7);
    let good = (1, [1000, 1125, 2000]);
    assert!(unify(&[good, (2, [2001, 2126, 3000])], &log).is_ok());
    for prompts in [
        // Touching, overlapping, ending before the prefill does.
        [good, (2, [2000, 2125, 3000])],
        [good, (2, [1900, 2025, 3000])],
        [good, (2, [2500, 3125, 3000])],
    ] {
        assert!(unify(&prompts, &log).is_err(), "{prompts:?}");
    }
    for log in [String::new(), "\n".to_owned(), log.replace("CPU [", "CPU (")] {
        assert!(unify(&[good], &log).is_err(), "{log}");
    }
    // A log that lies elsewhere in time is fused, and all of its cells are empty.
    let elsewhere = unify(&[good], &log.replace("10:00", "15:00")).unwrap();
    assert!(elsewhere.rows[0][8..].iter().all(String::is_empty));
}

/// Canonical values of prompt, prefill and decode of one prompt.
fn canonical(log: &str) -> [Canonical; 3] {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("xavier/results_hf_xavier");
    std::fs::create_dir_all(&folder).unwrap();
    let path = |kind: &str| folder.join(format!("{kind}_m_torch.bfloat16_.csv"));
    std::fs::write(path("INFO"), format!("{INFO}{}", prompt(1, [1000, 1125, 2000]))).unwrap();
    std::fs::write(path("TGS"), log).unwrap();
    unify_file(HydraPlatform::Xavier, &path("INFO"), &path("TGS"), &path("UNIFIED"), |_| Ok(()))
        .unwrap();
    Corpus::load(root.path()).unwrap().configs[0].records[0].phases
}

#[test]
fn canonical_values_of_xaviers_columns() {
    let log = [
        // In prefill: the memory controller above 100 %, a core off, one zone hotter than the GPU.
        sample(1100, 10000)
            .replace("40%@2133", "107%@2133")
            .replace("6%@2565]", "off]")
            .replace("CPU@54.5C", "CPU@60C"),
        // In decode: two loads and clocks, and no CPU rail.
        sample(1500, 12000).replace("CPU 2017mW/2020mW", ""),
        sample(1600, 14000).replace("50%@[1377]", "70%@[1177]").replace("CPU 2017mW/2020mW", ""),
    ];
    let [prompt, prefill, decode] = canonical(&log.concat());
    for (name, value, expected) in [
        ("cpu_load_mean", decode.cpu_load_mean, 89.0 / 8.0),
        ("cpu_load_max", decode.cpu_load_max, 30.0),
        ("cpu_load_max with a core off", prefill.cpu_load_max, f64::INFINITY),
        ("cpu_freq_mean", decode.cpu_freq_mean, (3.0 * 2565.0 + 5.0 * 2265.0) / 8.0),
        ("gpu_load", decode.gpu_load, 60.0),
        ("gpu_freq", decode.gpu_freq, 1277.0),
        ("temp_max_c", prefill.temp_max_c, 60.0),
        ("temp_max_c", decode.temp_max_c, 55.5),
        ("ram_used_mb", decode.ram_used_mb, 9050.0),
        ("gpu_power_mw", decode.gpu_power_mw, 13000.0),
        ("cpu_power_mw", prefill.cpu_power_mw, 2017.0),
        ("sys_power_mw", decode.sys_power_mw, 3087.0),
        // Of the rails that are there; SOC, CV and VDDRQ are never part.
        ("total_power_mw", prefill.total_power_mw, 10000.0 + 2017.0 + 3087.0),
        ("total_power_mw", decode.total_power_mw, 13000.0 + 3087.0),
        ("power_w", decode.power_w(), 16.087),
        // The mean of the window is clipped, not its samples: (107 + 40 + 40) / 3.
        ("emc_load", prefill.emc_load, 100.0),
        ("emc_load", prompt.emc_load, 187.0 / 3.0),
        ("u_eff", decode.effective_utilisation(HydraPlatform::Xavier), 60.0 * 1277.0 / 1377.0),
        ("bw_eff", decode.effective_bandwidth(HydraPlatform::Xavier), 137.0 * 0.4),
    ] {
        let close = value == expected || (value - expected).abs() <= 1e-9 * expected.abs();
        assert!(close, "{name}: {value}, expected {expected}");
    }
    for absent in [decode.cpu_power_mw, decode.board_power_mw, decode.nvml_gpu_util] {
        assert!(absent.is_nan());
    }
}
