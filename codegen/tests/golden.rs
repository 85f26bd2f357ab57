//! The model in `runtime/src/model` is what the emitter writes today.
//!
//! After a wanted change of the output: `UPDATE_GOLDEN=1 cargo test -p enerinfer-codegen --test
//! golden`, and look at the difference.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use enerinfer_codegen::{Options, generate};

#[test]
fn committed_model_is_what_the_emitter_writes() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/runtime/src/model"));
    let generated = generate(&common::tiny_bundle(), &Options::default()).unwrap();
    let model: BTreeMap<String, String> = generated
        .files
        .into_iter()
        .filter_map(|(path, bytes)| {
            let name = path.strip_prefix("src/model/")?.to_owned();
            Some((name, String::from_utf8(bytes).unwrap()))
        })
        .collect();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        for (name, text) in &model {
            fs::write(folder.join(name), text).unwrap();
        }
    }
    let committed: BTreeMap<String, String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    assert_eq!(committed, model);
}
