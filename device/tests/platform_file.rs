//! Platform files of users: each kind of fault is named with its line.

use enerinfer_device::{DeviceError, SimulatedDevice, names};

const H_PHONE: &str = include_str!("../platforms/h_phone.toml");

fn error_of(text: &str) -> String {
    SimulatedDevice::from_toml(text, "my.toml", None).expect_err("a fault").to_string()
}

/// The platform file with the line that starts with `key` replaced, and that line's number.
fn with_line(key: &str, line: &str) -> (String, usize) {
    let at = H_PHONE.lines().position(|l| l.starts_with(key)).expect("a key of the file");
    let lines = H_PHONE.lines().enumerate().map(|(i, l)| if i == at { line } else { l });
    (lines.collect::<Vec<_>>().join("\n"), at + 1)
}

#[test]
fn faults_are_named_with_file_and_line() {
    let cases = [
        ("busy_w", r#"busy_w = { value = [1, 2], source = "x" }"#, "one value per clock level: 5"),
        ("busy_w", r#"busy_w = { value = [1, 2, 3, 4, nan], source = "x" }"#, "got NaN"),
        ("busy_w", r#"busy_w = { value = [1, 2, 3, 4, -5], source = "x" }"#, "got -5"),
        ("busy_w", r#"busy_w = { value = [1, 2, 3, 4, 5], source = " " }"#, "source is empty"),
        ("busy_w", r#"busy_w = { value = [1, 2, 3, 4, 5] }"#, "missing field `source`"),
        ("busy_w", r#"busy_w = { value = ["a"], source = "x" }"#, "invalid type"),
        ("busy_w", r#"busy_watt = 5"#, "unknown field `busy_watt`"),
        (
            "idle_fraction",
            r#"idle_fraction = { value = 1.5, source = "x" }"#,
            "from 0 to 1, got 1.5",
        ),
        ("overlap_exponent", r#"overlap_exponent = { value = 0.5, source = "x" }"#, "got 0.5"),
        ("tile_rows", r#"tile_rows = { value = 0, source = "x" }"#, "got 0"),
        ("core_j_per_k", r#"core_j_per_k = { value = 0, source = "x" }"#, "got 0"),
        ("memory_mhz", r#"memory_mhz = { value = [], source = "x" }"#, "0 levels"),
        (
            "accelerator_mhz",
            r#"accelerator_mhz = { value = [500, 725, 725, 1175, 1400], source = "x" }"#,
            "strictly ascending",
        ),
        ("name", r#"name = "my phone""#, "letters, digits and `_`"),
        ("default_format", r#"default_format = "q9""#, "unknown weight format `q9`"),
        ("default_format", r#"default_format = "f16""#, "no [format.f16] section"),
    ];
    for (key, line, expected) in cases {
        let (text, number) = with_line(key, line);
        let message = error_of(&text);
        assert!(message.contains(expected), "{line}: {message}");
        assert!(message.starts_with("my.toml:"), "{message}");
        // A missing field is reported at its section, a table of clocks at either table.
        if !expected.contains("missing") && !expected.contains("levels") {
            assert!(message.starts_with(&format!("my.toml:{number}:")), "{message}");
        }
    }
}

#[test]
fn bandwidth_that_falls_with_the_clock_contradicts_itself() {
    let (text, number) = with_line(
        "bandwidth_gb_per_s",
        r#"bandwidth_gb_per_s = { value = [9, 8, 7, 6, 5, 4, 3, 2, 1], source = "x" }"#,
    );
    assert!(error_of(&text).starts_with(&format!("my.toml:{number}: ")), "{}", error_of(&text));
}

#[test]
fn every_cut_of_a_file_is_refused_without_panic() {
    for end in 0..H_PHONE.len() {
        let Some(cut) = H_PHONE.get(..end) else { continue };
        // A file may lose its last line break and stay whole.
        if cut.trim_end() != H_PHONE.trim_end() {
            assert!(SimulatedDevice::from_toml(cut, "my.toml", None).is_err(), "cut at {end}");
        }
    }
}

#[test]
fn unknown_names_and_formats_say_what_there_is() {
    let unknown = SimulatedDevice::builtin("h-phone", None).unwrap_err().to_string();
    assert!(unknown.contains("did you mean `h_phone`?"), "{unknown}");
    for name in names() {
        assert!(unknown.contains(name), "{unknown}");
    }
    let format = SimulatedDevice::builtin("h_phone", Some(enerinfer_datasets::WeightFormat::F16));
    assert!(matches!(format, Err(DeviceError::UnknownFormat { .. })));
}

#[test]
fn files_are_read_by_path_and_missing_ones_are_named() {
    let path = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/platforms/h_phone.toml"));
    let read = SimulatedDevice::from_file(path, None).unwrap();
    assert_eq!(read, SimulatedDevice::builtin("h_phone", None).unwrap());
    let missing = SimulatedDevice::from_file("no/such.toml".as_ref(), None).unwrap_err();
    assert!(missing.to_string().starts_with("no/such.toml: "), "{missing}");
    // The reason stands in the message; as a source too, it would be printed twice.
    assert!(std::error::Error::source(&missing).is_none());
}

#[test]
fn another_device_needs_a_name_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.toml");
    for (key, line) in [
        ("idle_fraction", r#"idle_fraction = { value = 0.5, source = "x" }"#),
        ("engine", r#"engine = "mine""#),
        ("name", r#"name = "orin""#),
    ] {
        let (text, _) = with_line(key, line);
        std::fs::write(&path, &text).unwrap();
        let message = SimulatedDevice::from_file(&path, None).unwrap_err().to_string();
        let name_line = 1 + text.lines().position(|l| l.starts_with("name")).unwrap();
        assert!(message.contains(&format!("my.toml:{name_line}: name `")), "{message}");
        let own = text.replacen("name = \"h_phone\"", "name = \"mine\"", 1);
        let own = own.replacen("name = \"orin\"", "name = \"mine\"", 1);
        std::fs::write(&path, own).unwrap();
        assert!(SimulatedDevice::from_file(&path, None).is_ok(), "{line}");
    }
    // What a comment or the order says changes nothing.
    std::fs::write(&path, format!("# mine\n{H_PHONE}")).unwrap();
    assert!(SimulatedDevice::from_file(&path, None).is_ok());
}
