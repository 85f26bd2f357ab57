//! Mode `hydra` against the original's outputs; how those were made: `data/README.md`.
#![allow(clippy::unwrap_used)] // a test's way to fail

use std::path::{Path, PathBuf};

use enerinfer_telemetry::hydra::{HydraParser, HydraPlatform, LineFault, ParsedLine, unify_file};

fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hydra").join(path)
}

fn unify_folder(p: HydraPlatform, folder: &Path) -> Vec<(PathBuf, Result<Vec<u8>, String>)> {
    let mut infos: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|f| f.file_name().unwrap().to_str().unwrap().starts_with("INFO_"))
        .collect();
    infos.sort();
    let target = tempfile::tempdir().unwrap();
    infos
        .into_iter()
        .map(|info| {
            let sibling = |kind: &str| {
                let name = info.file_name().unwrap().to_str().unwrap();
                info.with_file_name(name.replacen("INFO", kind, 1))
            };
            let out = target.path().join("UNIFIED.csv");
            let result = unify_file(p, &info, &sibling("TGS"), &out, |_| Ok(()))
                .map(|_| std::fs::read(&out).unwrap())
                .map_err(|e| e.to_string());
            (sibling("UNIFIED"), result)
        })
        .collect()
}

/// Byte for byte, sums in the original's order of rounding included.
fn assert_equal(expected: &Path, actual: &[u8]) {
    let text = std::fs::read(expected).unwrap();
    let lines = |bytes: &[u8]| -> Vec<String> {
        String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect()
    };
    for (row, (e, a)) in lines(&text).iter().zip(lines(actual)).enumerate() {
        for (e, a) in e.split(',').zip(a.split(',')) {
            assert_eq!(e, a, "{}, row {row}", expected.display());
        }
    }
    assert!(text == actual, "{}", expected.display());
}

#[test]
fn unified_tables_equal_the_original() {
    let mut files = 0;
    for p in HydraPlatform::ALL {
        for backend in ["hf", "llamacpp"] {
            let folder = data(&format!("{p}/results_{backend}_{p}"));
            for (expected, result) in unify_folder(p, &folder) {
                assert_equal(&expected, &result.unwrap());
                files += 1;
            }
        }
    }
    assert_eq!(files, 6);
}

#[test]
fn faults_fail_or_pass_as_in_the_original() {
    let mut passed = Vec::new();
    for p in [HydraPlatform::Orin, HydraPlatform::Thor] {
        let mut folders: Vec<PathBuf> = std::fs::read_dir(data(p.name()))
            .unwrap()
            .map(|e| e.unwrap().path())
            .filter(|f| f.file_name().unwrap().to_str().unwrap().starts_with("fail_"))
            .collect();
        folders.sort();
        assert_eq!(folders.len(), 12);
        for folder in folders {
            for (expected, result) in unify_folder(p, &folder) {
                match (expected.exists(), result) {
                    (true, Ok(bytes)) => {
                        assert_equal(&expected, &bytes);
                        passed.push(expected);
                    }
                    (false, Err(message)) => assert!(!message.is_empty()),
                    (_, other) => panic!("{}: {:?}", folder.display(), other.map(|b| b.len())),
                }
            }
        }
    }
    assert_eq!(passed.len(), 9);
}

#[test]
fn single_lines_parse_as_in_the_original() {
    let mut cases = 0;
    for p in [HydraPlatform::Orin, HydraPlatform::Thor] {
        let text = std::fs::read_to_string(data(&format!("{p}/lines/cases.jsonl"))).unwrap();
        let mut parser = HydraParser::new(p).unwrap();
        for case in text.lines() {
            let case: serde_json::Value = serde_json::from_str(case).unwrap();
            let id = case["id"].as_str().unwrap();
            let mut out = ParsedLine::default();
            let result = parser.parse(case["line"].as_str().unwrap().as_bytes(), &mut out);
            match case["outcome"].as_str().unwrap() {
                "ok" => {
                    assert_eq!(result, Ok(()), "{p} {id}");
                    check_fields(p, id, &case["fields"], &out);
                }
                "ValueError" => assert!(matches!(result, Err(LineFault::Value(_))), "{p} {id}"),
                "IndexError" => assert!(matches!(result, Err(LineFault::Index(_))), "{p} {id}"),
                other => panic!("{other}"),
            }
            cases += 1;
        }
    }
    assert_eq!(cases, 71);
}

fn check_fields(p: HydraPlatform, id: &str, fields: &serde_json::Value, out: &ParsedLine) {
    let names = p.columns(out.cores);
    assert_eq!(names.len(), out.cells.len(), "{p} {id}");
    let fields = fields.as_object().unwrap();
    assert_eq!(fields.len(), names.len() + 1, "{p} {id}");
    assert_eq!(fields["timestamp"].as_i64(), Some(out.timestamp_ns), "{p} {id}");
    for (i, (name, &value)) in names.iter().zip(&out.cells).enumerate() {
        let at = format!("{p} {id} {name}");
        let expected = &fields[name];
        assert_eq!(expected == "off", out.text_cells.contains(&i), "{at}");
        match expected {
            serde_json::Value::Null => assert!(value.is_nan(), "{at}"),
            serde_json::Value::String(s) if s == "inf" => assert_eq!(value, f64::INFINITY, "{at}"),
            serde_json::Value::String(s) => assert_eq!(s, "off", "{at}"),
            number => assert_eq!(number.as_f64(), Some(value), "{at}"),
        }
    }
}
