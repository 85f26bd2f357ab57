//! What may be replaced by a generated crate, and what stays.

#![allow(clippy::unwrap_used)] // a test's way to fail

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use enerinfer_codegen::{CodegenError, Options, check_destination, generate_to};

/// Path and content of everything below a folder, links not followed.
fn snapshot(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut out = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let kind = path.symlink_metadata().unwrap().file_type();
        if kind.is_dir() {
            out.insert(path.clone(), Vec::new());
            out.extend(snapshot(&path));
        } else if kind.is_symlink() {
            out.insert(
                path.clone(),
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes(),
            );
        } else {
            out.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    out
}

/// A change to a generated crate, and the path that the refusal has to name.
type Spoil = (&'static str, fn(&Path), &'static str);

const SPOILT: &[Spoil] = &[
    ("no manifest", |k| fs::remove_file(k.join("MANIFEST.json")).unwrap(), "crate"),
    ("not JSON", |k| fs::write(k.join("MANIFEST.json"), "hello").unwrap(), "crate/MANIFEST.json"),
    ("other JSON", |k| fs::write(k.join("MANIFEST.json"), "{}").unwrap(), "crate/MANIFEST.json"),
    (
        "other generator",
        |k| {
            let text = fs::read_to_string(k.join("MANIFEST.json")).unwrap();
            let text = text.replace("enerinfer-codegen", "webpack");
            fs::write(k.join("MANIFEST.json"), text).unwrap();
        },
        "crate/MANIFEST.json",
    ),
    ("extra file", |k| fs::write(k.join("thesis.txt"), "years").unwrap(), "crate/thesis.txt"),
    ("hidden file", |k| fs::write(k.join(".env"), "x").unwrap(), "crate/.env"),
    (
        "nested file",
        |k| fs::write(k.join("src/model/mine.rs"), "").unwrap(),
        "crate/src/model/mine.rs",
    ),
    ("edited file", |k| fs::write(k.join("src/lib.rs"), "// mine").unwrap(), "crate/src/lib.rs"),
    (
        "target of another tool",
        |k| {
            fs::create_dir(k.join("target")).unwrap();
            fs::write(k.join("target/list.txt"), "x").unwrap();
        },
        "crate/target/list.txt",
    ),
    (
        "lock of another tool",
        |k| fs::write(k.join("Cargo.lock"), "mine").unwrap(),
        "crate/Cargo.lock",
    ),
];

#[test]
fn nothing_that_somebody_else_made_is_lost() {
    let bundle = common::tiny_bundle();
    for (what, spoil, named) in SPOILT {
        let folder = tempfile::tempdir().unwrap();
        let krate = folder.path().join("crate");
        generate_to(&bundle, &Options::default(), &krate).unwrap();
        check_destination(&krate).unwrap();
        spoil(&krate);
        let before = snapshot(folder.path());
        for error in [
            check_destination(&krate).unwrap_err(),
            generate_to(&bundle, &Options::default(), &krate).unwrap_err(),
        ] {
            match &error {
                CodegenError::NotOurs { path, .. } => {
                    assert_eq!(*path, folder.path().join(named), "{what}");
                }
                other => panic!("{what}: {other}"),
            }
            assert!(error.to_string().contains("choose another folder"), "{what}: {error}");
        }
        assert_eq!(snapshot(folder.path()), before, "{what}");
    }
}

#[test]
fn foreign_folder_with_a_file_called_manifest_stays() {
    let folder = tempfile::tempdir().unwrap();
    let web = folder.path().join("web");
    fs::create_dir(&web).unwrap();
    fs::write(web.join("MANIFEST.json"), "{\"name\": \"my page\"}").unwrap();
    fs::write(web.join("index.html"), "<html>").unwrap();
    let before = snapshot(folder.path());
    let error = generate_to(&common::tiny_bundle(), &Options::default(), &web).unwrap_err();
    assert!(matches!(error, CodegenError::NotOurs { .. }), "{error}");
    assert_eq!(snapshot(folder.path()), before);
}

#[cfg(unix)]
#[test]
fn files_and_links_in_the_way_are_named_for_what_they_are() {
    use std::os::unix::fs::symlink;

    let bundle = common::tiny_bundle();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    generate_to(&bundle, &Options::default(), &at("crate")).unwrap();
    fs::create_dir(at("empty")).unwrap();
    fs::write(at("file"), "mine").unwrap();
    symlink(at("crate"), at("link")).unwrap();
    symlink(at("nowhere"), at("dangling")).unwrap();
    let before = snapshot(folder.path());
    for (name, what, named) in [
        ("file", "a file", "file"),
        ("file/crate", "a file", "file"),
        ("file/new/crate", "a file", "file"),
        ("link", "a symbolic link", "link"),
        ("link/", "a symbolic link", "link"),
        ("dangling", "a symbolic link", "dangling"),
    ] {
        let error = generate_to(&bundle, &Options::default(), &at(name)).unwrap_err();
        match &error {
            CodegenError::NotAFolder { path, what: said } => {
                assert_eq!((path, *said), (&at(named), what), "{name}");
            }
            other => panic!("{name}: {other}"),
        }
    }
    for name in ["empty/..", "."] {
        let path = if name == "." { PathBuf::from(name) } else { at(name) };
        let error = check_destination(&path).unwrap_err();
        assert!(matches!(error, CodegenError::NotOurs { .. }), "{name}: {error}");
    }
    assert_eq!(snapshot(folder.path()), before);

    symlink(at("file"), at("crate/src/link.rs")).unwrap();
    let error = check_destination(&at("crate")).unwrap_err();
    assert!(error.to_string().contains("link.rs"), "{error}");
}

#[test]
fn new_empty_unchanged_and_built_crates_are_written() {
    let bundle = common::tiny_bundle();
    let folder = tempfile::tempdir().unwrap();
    let krate = folder.path().join("new/parents/crate");
    check_destination(&krate).unwrap();
    assert!(!folder.path().join("new").exists(), "a check writes nothing");
    fs::create_dir_all(&krate).unwrap();
    generate_to(&bundle, &Options::default(), &krate).unwrap();
    let written = snapshot(&krate);

    fs::remove_file(krate.join("README.md")).unwrap();
    fs::create_dir(krate.join("target")).unwrap();
    // As cargo writes them.
    fs::write(
        krate.join("target/CACHEDIR.TAG"),
        "Signature: 8a477f597d28d172789f06886806bc55\n# This file is a cache directory tag",
    )
    .unwrap();
    fs::write(krate.join("target/.rustc_info.json"), "{}").unwrap();
    fs::write(
        krate.join("Cargo.lock"),
        "# This file is automatically @generated by Cargo.\n# It is not intended for manual editing.\n",
    )
    .unwrap();
    generate_to(&bundle, &Options::default(), &krate).unwrap();
    assert_eq!(snapshot(&krate), written);
    let parents = fs::read_dir(folder.path().join("new/parents")).unwrap().count();
    assert_eq!(parents, 1, "temporary folders remain");
}
