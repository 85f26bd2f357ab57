//! The command `compile-forest`: exit codes, messages, and what it leaves on disk.

#![allow(clippy::unwrap_used)] // a test's way to fail

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
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
        (&["b", "--out", "garbage"], "garbage: is a file"),
        (&["b", "--out", "garbage/c"], "garbage: is a file"),
        (&["b", "--out", "new/../folder"], "folder: it is not empty"),
        (&["b", "--out", "c", "--dump-ir", "new/../folder"], "folder/mine: is no dump"),
        (&["b", "--out", "folder"], "folder: it is not empty"),
        (&["b", "--out", "."], "no name of a folder"),
        (&["b", "--out", "c", "--dump-ir", "garbage"], "garbage: is, or lies below, a file"),
        (&["b", "--out", "c", "--dump-ir", "garbage/x"], "a file"),
        (&["b", "--out", "c", "--dump-ir", "folder"], "folder/mine: is no dump"),
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

/// Path and content of every file below a folder.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut out = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_owned();
                out.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    out
}

/// The crate that a C API depends on.
fn dependency(capi: &Path) -> String {
    let manifest = fs::read_to_string(capi.join("Cargo.toml")).unwrap();
    let path = manifest.split("path = \"").nth(1).unwrap().split('"').next().unwrap();
    path.to_owned()
}

/// Whatever the paths, and even if the working folder is one of those that are replaced.
#[cfg(unix)]
#[test]
fn outputs_are_the_same_wherever_the_command_is_run() {
    let folder = with_bundle();
    let at = folder.path();
    let bundle = at.join("b").display().to_string();
    let absolute = at.join("x/rt").display().to_string();
    fs::create_dir_all(at.join("x")).unwrap();
    fs::create_dir_all(at.join("far/away")).unwrap();
    std::os::unix::fs::symlink(at.join("x"), at.join("far/away/link")).unwrap();
    let args = ["b", "--out", "x/rt", "--capi", "x/capi", "--dump-ir", "x/ir"];
    expect(0, at, &args);
    assert_eq!(dependency(&at.join("x/capi")), "../rt");
    let expected = files(&at.join("x"));
    for (cwd, rt, capi, ir) in [
        ("x/rt", "../rt", "../capi", "../ir"),
        ("x/capi", "../rt", "../capi", "../ir"),
        ("x/ir", "../rt", "../capi", "../ir"),
        ("x/rt/src/model", "../../../rt", "../../../capi", "../../../ir"),
        ("x/capi/include", "../../../x/rt/", "../../capi", "new/../../../ir"),
        ("x/rt", &absolute, "../../x/capi", "../../far/away/link/ir"),
        ("x", "rt", "./capi", "ir"),
        ("", "x/../x/rt", "new/../x/capi", "x/rt/../ir"),
        ("far/away/link/rt", "../rt", "../capi", "../ir"),
        ("far", "away/link/rt", "away/link/capi", "../x/ir"),
        ("far/away", "link/rt", "../../x/capi", "link/../x/ir"),
        ("far/away", "../../x/rt", "link/capi", "link/ir"),
    ] {
        let case = [cwd, rt, capi, ir];
        let args = [&bundle, "--out", rt, "--capi", capi, "--dump-ir", ir];
        let text = expect(0, &at.join(cwd), &args);
        assert!(text.contains(&format!("{rt}: 4 predictors")), "{case:?}: {text}");
        assert!(files(&at.join("x")) == expected, "{case:?}");
        assert_eq!(names(&at.join("x")), ["capi", "ir", "rt"], "{case:?}");
        assert_eq!(names(at), ["b", "far", "x"], "{case:?}");
    }
}

#[cfg(unix)]
#[test]
fn the_c_api_finds_the_crate_wherever_both_are() {
    for (out, capi) in [
        ("x/rt", "x/capi"),
        ("rt", "x/deep/capi"),
        ("x/deep/rt", "capi"),
        ("new/rt", "new/rt/../capi"),
        ("link/rt", "capi"),
        ("rt", "link/capi"),
        ("link/rt", "real/deep/capi"),
        ("link/../rt", "link/capi"),
    ] {
        let folder = with_bundle();
        let at = folder.path();
        fs::create_dir_all(at.join("real/deep")).unwrap();
        std::os::unix::fs::symlink("real/deep", at.join("link")).unwrap();
        for _ in 0..2 {
            expect(0, at, &["b", "--out", out, "--capi", capi]);
            let path = dependency(&at.join(capi));
            assert!(Path::new(&path).is_relative(), "{out} {capi}: {path}");
            let found = at.join(capi).canonicalize().unwrap().join(&path).canonicalize();
            assert_eq!(found.unwrap(), at.join(out).canonicalize().unwrap(), "{out} {capi}");
        }
    }
}

/// However two outputs are named, neither may lie in the other.
#[cfg(unix)]
#[test]
fn outputs_that_meet_are_refused_before_anything_is_written() {
    for exists in [false, true] {
        let folder = with_bundle();
        let at = folder.path();
        for name in ["a", "x", "real"] {
            fs::create_dir(at.join(name)).unwrap();
        }
        std::os::unix::fs::symlink("real", at.join("link")).unwrap();
        if exists {
            expect(0, at, &["b", "--out", "rt"]);
            expect(0, at, &["b", "--out", "real/rt"]);
        }
        let absolute = at.join("rt").display().to_string();
        let before = files(at);
        for (one, other) in [
            ("rt", "rt"),
            ("rt", "./rt/"),
            ("rt", "a/../rt"),
            ("rt", "new/../rt"),
            ("rt", &absolute),
            ("rt", "rt/inner"),
            ("rt", "x/../rt/inner"),
            ("rt", "rt/new/../inner"),
            ("rt", "link/../rt/inner"),
            ("real/rt", "link/rt"),
            ("real/rt", "link/rt/inner"),
            ("real/rt", "link/../real/rt"),
        ] {
            for args in [
                &["--out", one, "--capi", other][..],
                &["--out", other, "--capi", one],
                &["--out", one, "--dump-ir", other],
                &["--out", other, "--dump-ir", one],
                &["--out", "apart", "--capi", one, "--dump-ir", other],
                &["--out", "apart", "--capi", other, "--dump-ir", one],
            ] {
                let text = expect(2, at, &[&["b"], args].concat());
                assert!(text.contains("one would replace the other"), "{args:?}: {text}");
                assert!(text.contains(one) && text.contains(other), "{args:?}: {text}");
                assert!(files(at) == before, "{args:?}");
            }
        }
        let mut expected = vec!["a", "b", "link", "real", "x"];
        if exists {
            expected.insert(4, "rt");
        }
        assert_eq!(names(at), expected);
    }
}

#[cfg(unix)]
#[test]
fn links_that_lead_nowhere_are_refused() {
    let folder = with_bundle();
    let at = folder.path();
    std::os::unix::fs::symlink("nowhere", at.join("link")).unwrap();
    for args in [
        &["--out", "link/rt"][..],
        &["--out", "rt", "--capi", "link/capi"],
        &["--out", "rt", "--dump-ir", "link"],
        &["--out", "rt", "--dump-ir", "link/ir"],
    ] {
        let text = expect(2, at, &[&["b"], args].concat());
        assert!(text.contains("leads nowhere"), "{args:?}: {text}");
        assert_eq!(names(at), ["b", "link"], "{args:?}");
    }
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
