//! The command `compile-forest`: exit codes, messages, and what it leaves on disk.

#![allow(clippy::unwrap_used)] // a test's way to fail

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_compile-forest"));
    command.args(args).current_dir(folder);
    command
}

fn run(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Runs, expects an exit code, and returns stdout and stderr together.
fn expect(code: i32, folder: &Path, args: &[&str]) -> String {
    let output = run(folder, args);
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {text}");
    text
}

/// A folder with the bundle `b`.
fn with_bundle() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("b"), common::tiny_bundle().to_bytes().unwrap()).unwrap();
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn bad_input_is_one_clear_line_exit_code_2_and_nothing_written() {
    let folder = with_bundle();
    let at = folder.path();
    fs::create_dir(at.join("folder")).unwrap();
    fs::write(at.join("folder/mine"), "mine").unwrap();
    fs::write(at.join("garbage"), (0..=255u8).cycle().take(5000).collect::<Vec<_>>()).unwrap();
    fs::write(at.join("nothing"), "").unwrap();
    fs::write(at.join("spec.json"), "{}").unwrap();
    let mut cut = common::tiny_bundle().to_bytes().unwrap();
    cut.truncate(cut.len() - 1);
    fs::write(at.join("cut"), cut).unwrap();
    let before = names(at);
    for (args, says) in [
        (&["missing", "--out", "c"][..], "missing"),
        (&["folder", "--out", "c"], "is a folder"),
        (&["garbage", "--out", "c"], "garbage: not a bundle"),
        (&["nothing", "--out", "c"], "nothing: not a bundle"),
        (&["cut", "--out", "c"], "cut: the header announces"),
        (&["b", "--out", "c", "--capi", "c"], "one would replace the other"),
        (&["b", "--out", "c", "--capi", "c/capi"], "one would replace the other"),
        (&["b", "--out", "c/d", "--capi", "c"], "one would replace the other"),
        (&["b", "--out", "garbage"], "garbage: is a file"),
        (&["b", "--out", "garbage/c"], "garbage: is a file"),
        (&["b", "--out", "folder"], "folder: it is not empty"),
        (&["b", "--out", "."], "no name of a folder"),
        (&["b", "--out", "c", "--dump-ir", "garbage"], "garbage: is, or lies below, a file"),
        (&["b", "--out", "c", "--dump-ir", "garbage/x"], "a file"),
        (&["b", "--out", "c", "--dump-ir", "folder"], "folder/mine: is no dump"),
        (&["b", "--out", "c", "--dump-ir", "c"], "lies in the crate's folder"),
        (&["b", "--out", "c", "--dump-ir", "c/ir"], "lies in the crate's folder"),
        (&["b", "--out", "new/c", "--max-nodes", "3"], "at most 3 nodes"),
        (&["b", "--out", "new/c", "--capi", "new/d", "--max-nodes", "3"], "at most 3 nodes"),
        (&["b", "--out", "new/c", "--dump-ir", "ir", "--max-nodes", "3"], "at most 3 nodes"),
        (&["spec.json", "--out", "new/c"], "spec.json: "),
    ] {
        let output = run(at, args);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
        assert!(text.starts_with("error: ") && text.contains(says), "{args:?}: {text}");
        assert_eq!(text.lines().count(), 1, "{args:?}: {text}");
        assert!(output.stdout.is_empty(), "{args:?}");
        assert_eq!(names(at), before, "{args:?}");
    }
    let text = expect(2, at, &["b", "--out", "c", "--flash-budget", "0"]);
    assert!(text.contains("--flash-budget"), "{text}");
    assert_eq!(names(at), before);
}

#[cfg(unix)]
#[test]
fn devices_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let text = expect(2, folder.path(), &["/dev/zero", "--out", "c"]);
    assert!(text.contains("not a regular file"), "{text}");
}

#[test]
fn the_system_s_reason_is_given_once() {
    let folder = tempfile::tempdir().unwrap();
    let text = expect(2, folder.path(), &["missing", "--out", "c"]);
    assert_eq!(text.matches("os error").count(), 1, "{text}");
}

#[test]
fn every_error_of_the_library_names_each_cause_once() {
    use std::error::Error as _;

    let io = enerinfer_codegen::CodegenError::Io {
        path: "x".into(),
        reason: std::io::Error::from_raw_os_error(2),
    };
    // The message and what `source()` adds to it.
    let mut text = io.to_string();
    let mut cause = io.source();
    while let Some(error) = cause {
        text += &error.to_string();
        cause = error.source();
    }
    assert_eq!(text.matches("os error 2").count(), 1, "{text}");
}

#[test]
fn dumps_replace_dumps_and_nothing_else() {
    let folder = with_bundle();
    let at = folder.path();
    let args = ["b", "--out", "c", "--dump-ir", "ir/deep"];
    expect(0, at, &args);
    let all = ["accel_power.json", "peak.json", "power.json", "scale.json"];
    assert_eq!(names(&at.join("ir/deep")), all);
    expect(0, at, &args);

    // A bundle without power leaves no dump of power behind.
    let mut bundle = common::tiny_bundle();
    bundle.predictors.truncate(2);
    fs::write(at.join("throughput"), bundle.to_bytes().unwrap()).unwrap();
    expect(0, at, &["throughput", "--out", "c", "--dump-ir", "ir/deep"]);
    assert_eq!(names(&at.join("ir/deep")), ["peak.json", "scale.json"]);

    for (name, content) in [("notes.txt", "mine"), ("power.json", "{}"), ("sub", "")] {
        let path = at.join("ir/deep").join(name);
        if name == "sub" { fs::create_dir(&path) } else { fs::write(&path, content) }.unwrap();
        let manifest = fs::metadata(at.join("c/MANIFEST.json")).unwrap().modified().unwrap();
        let text = expect(2, at, &args);
        assert!(text.contains(name), "{text}");
        assert!(path.exists());
        let now = fs::metadata(at.join("c/MANIFEST.json")).unwrap().modified().unwrap();
        assert_eq!(manifest, now, "the crate was written although the dump was refused");
        if name == "sub" { fs::remove_dir(&path) } else { fs::remove_file(&path) }.unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn lost_output_is_a_failure_and_a_closed_pipe_is_not() {
    let folder = with_bundle();
    for args in [&["b", "--out", "c", "--explain"][..], &["--help"], &["--version"]] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = command(folder.path(), args).stdout(full).output().unwrap();
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {text}");
        assert!(text.contains("stdout") && text.matches("os error").count() == 1, "{text}");

        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut child = command(folder.path(), args);
        let output = child.stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
        assert_eq!(stderr(&output), "", "{args:?}");
    }
}

#[test]
fn a_flash_budget_is_kept_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let drawn = common::Drawn { trees: 12, depth: 6, leaf: (0.01, 0.08) };
    let bundle = common::random_bundle(5, common::board_clocks(), drawn);
    fs::write(at.join("b"), bundle.to_bytes().unwrap()).unwrap();

    let text = expect(0, at, &["b", "--out", "whole", "--explain"]);
    assert!(!text.contains("prune"), "{text}");
    let text = expect(0, at, &["b", "--out", "c", "--flash-budget", "10", "--explain"]);
    assert_eq!(text.matches("prune to budget").count(), 4, "{text}");
    assert!(text.contains("leaves for a flash budget of 10 KiB.\n"), "{text}");
    let kib: f64 = text.split("about ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(kib > 5.0 && kib <= 10.0, "{text}");
    let readme = fs::read_to_string(at.join("c/README.md")).unwrap();
    assert!(readme.contains("leaves for a flash budget of 10 KiB."), "{readme}");
    assert!(readme.contains("enerinfer-runtime --flash-budget 10\n"), "{readme}");

    // A budget that is kept anyway changes nothing.
    expect(0, at, &["b", "--out", "roomy", "--flash-budget", "100000"]);
    let manifest = |name: &str| fs::read(at.join(name).join("MANIFEST.json")).unwrap();
    assert_eq!(manifest("whole"), manifest("roomy"));

    let text = expect(2, at, &["b", "--out", "tiny", "--flash-budget", "1"]);
    assert!(text.contains("1024 bytes cannot be met"), "{text}");
    assert!(!at.join("tiny").exists());
}

#[test]
fn help_has_an_example_of_every_use() {
    let folder = tempfile::tempdir().unwrap();
    let text = expect(0, folder.path(), &["--help"]);
    let examples = text.split("Examples:").nth(1).unwrap();
    for option in ["--out", "--explain", "--dump-ir", "--flash-budget"] {
        assert!(examples.contains(option), "{option}: {text}");
    }
}

#[test]
fn the_c_api_refers_to_the_crate_beside_it() {
    let folder = with_bundle();
    let at = folder.path();
    expect(0, at, &["b", "--out", "x/rt", "--capi", "x/capi"]);
    let manifest = fs::read_to_string(at.join("x/capi/Cargo.toml")).unwrap();
    assert!(manifest.contains("path = \"../rt\""), "{manifest}");
}

/// Whatever holds predictions, or is compared by them, goes by the digest.
#[test]
fn the_digest_is_of_the_bundle_unless_predictions_are_others() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let drawn = common::Drawn { trees: 12, depth: 6, leaf: (0.01, 0.08) };
    let bundle = common::random_bundle(5, common::board_clocks(), drawn);
    fs::write(at.join("b"), bundle.to_bytes().unwrap()).unwrap();
    let digest = |name: &str, options: &[&str]| {
        expect(0, at, &[&["b", "--out", name], options].concat());
        let text = |file: &str| fs::read_to_string(at.join(name).join(file)).unwrap();
        let manifest: serde_json::Value = serde_json::from_str(&text("MANIFEST.json")).unwrap();
        let digest = manifest["model_digest"].as_str().unwrap().to_owned();
        // It is the same wherever the crate says it.
        assert!(text("src/model/mod.rs").contains(&format!("\"{digest}\"")), "{name}");
        assert!(text("README.md").contains(&format!("Model digest: `{digest}`")), "{name}");
        let version = format!("+model.{}\"", &digest[..8]);
        assert!(text("Cargo.toml").contains(&version), "{name}");
        digest
    };
    let whole = bundle.digest().unwrap();
    assert_eq!(digest("whole", &[]), whole);
    assert_eq!(digest("fast", &["--optimise", "speed"]), whole);
    assert_eq!(digest("roomy", &["--flash-budget", "100000"]), whole);
    let ten = digest("ten", &["--flash-budget", "10"]);
    let eight = digest("eight", &["--flash-budget", "8"]);
    assert!(ten != whole && eight != whole && ten != eight);
    assert_eq!(digest("again", &["--flash-budget", "10"]), ten);
    assert_eq!(digest("fast_ten", &["--flash-budget", "10", "--optimise", "speed"]), ten);
}
