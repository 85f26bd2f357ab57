//! The tests that README.md of this folder names exist.

#![allow(clippy::unwrap_used)] // a test's way to fail

use std::fs;
use std::path::Path;

#[test]
fn tests_named_in_the_readme_exist() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut count = 0;
    // Every second piece stands in backquotes.
    for name in include_str!("README.md").split('`').skip(1).step_by(2) {
        if let Some((file, test)) = name.split_once("::").filter(|(file, _)| file.ends_with(".rs"))
        {
            let source = fs::read_to_string(folder.join(file)).unwrap_or_default();
            assert!(source.contains(&format!("fn {test}(")), "{name}");
            count += 1;
        } else if name.starts_with("../checks/") {
            assert!(folder.join(name).is_file(), "{name}");
        }
    }
    assert!(count > 30, "{count}");
}
