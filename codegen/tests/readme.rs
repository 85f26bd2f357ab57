//! What the README of a generated crate promises, by what its bundle holds.

#![allow(clippy::unwrap_used)] // a test's way to fail

mod common;

use enerinfer_artifacts::{Accuracy, Bundle, Domain};
use enerinfer_codegen::{Optimise, Options, generate};

fn file(bundle: &Bundle, name: &str) -> String {
    let files = generate(bundle, &Options::default()).unwrap().files;
    String::from_utf8(files[name].clone()).unwrap()
}

fn readme(bundle: &Bundle) -> String {
    file(bundle, "README.md")
}

fn simulated() -> Bundle {
    let mut bundle = common::tiny_bundle();
    bundle.platform.source = "simulated:tiny".to_owned();
    bundle.accuracy.push(Accuracy { what: "throughput".to_owned(), mape_percent: 3.0 });
    bundle
}

#[test]
fn simulated_data_are_labelled_at_the_top_and_at_the_accuracy() {
    let bundle = simulated();
    let text = readme(&bundle);
    let (top, rest) = text.split_once("```").unwrap();
    assert!(top.contains("SIMULATED") && top.contains("simulated:tiny"), "{top}");
    let accuracy = rest.split("## Accuracy").nth(1).unwrap().split("\n## ").next().unwrap();
    assert!(accuracy.contains("SIMULATED"), "{accuracy}");
    assert!(file(&bundle, "src/model/mod.rs").contains("pub const SIMULATED: bool = true;"));
}

#[test]
fn texts_of_the_bundle_stay_texts() {
    let mut bundle = simulated();
    let hostile = "a\n# b <script> `c` | [d](e) \\".to_owned();
    let p = &mut bundle.platform;
    for field in [&mut p.name, &mut p.engine, &mut p.weight_format, &mut p.power_domain] {
        field.clone_from(&hostile);
    }
    p.source = format!("simulated:{hostile}");
    let text = readme(&bundle);
    let told = text.split("## Regenerate").next().unwrap();
    let quoted = "a \\# b \\<script\\> \\`c\\` \\| \\[d\\](e) \\\\";
    assert_eq!(told.matches(quoted).count(), 7, "{told}");
    assert!(!told.contains("\n# b") && !told.contains(" <script>"), "{told}");
}

#[test]
fn measured_data_are_not() {
    let mut bundle = simulated();
    bundle.platform.source = "measured:power meter".to_owned();
    assert!(!readme(&bundle).contains("SIMULATED"));
    assert!(file(&bundle, "src/model/mod.rs").contains("pub const SIMULATED: bool = false;"));
}

#[test]
fn without_watts_neither_power_nor_efficiency_is_promised() {
    let mut bundle = common::tiny_bundle();
    let promise = |text: &str| {
        let intro = text.split("```").next().unwrap().to_lowercase();
        intro.contains("power") || intro.contains("efficien")
    };
    assert!(promise(&readme(&bundle)));
    bundle.predictors.truncate(2); // peak and scale
    let text = readme(&bundle);
    assert!(!promise(&text), "{text}");
    assert!(!text.contains("Power is in"), "{text}");
    assert!(text.contains("`model::HAS_POWER` is false"), "{text}");
    assert!(text.contains("`model::HAS_ACCEL_POWER` is false"), "{text}");
}

#[test]
fn controllers_are_mentioned_in_readme_and_changelog() {
    let bundle = common::tiny_bundle();
    for name in ["README.md", "CHANGELOG.md"] {
        let text = file(&bundle, name);
        for module in ["energy", "thermal", "coordinator", "votes", "hal", "driver"] {
            assert!(text.contains(&format!("`{module}`")), "{name}: {module}");
        }
    }
}

#[test]
fn a_missing_thermal_model_is_said() {
    let mut bundle = common::tiny_bundle();
    assert!(bundle.thermal.is_some());
    assert!(!readme(&bundle).contains("No thermal model"));
    bundle.thermal = None;
    assert!(readme(&bundle).contains("No thermal model was fitted"));
}

#[test]
fn regenerating_starts_where_train_was_run() {
    let text = readme(&common::tiny_bundle());
    let line = "compile-forest out/tiny/bundle.enerinfer --out out/tiny/enerinfer-runtime\n";
    assert!(text.contains(line), "{text}");
}

#[test]
fn names_mean_nothing_to_the_shell() {
    let mut bundle = common::tiny_bundle();
    for name in ["my board", "a'b", "$(rm -rf x)", "a;b", "```\n# b", "-é\"`\\"] {
        bundle.platform.name = name.to_owned();
        let text = readme(&bundle);
        let section = section(&text, "Regenerate");
        let block = section.trim_start().trim_end();
        let fence: String = block.chars().take_while(|&c| c == '`').collect();
        let (_, rest) = block.split_once("sh\n").unwrap();
        let (commands, _) = rest
            .split_once(&format!("\n{fence}\n"))
            .unwrap_or_else(|| (rest.strip_suffix(&format!("\n{fence}")).unwrap(), ""));
        let compile = commands.strip_prefix(&bundle.provenance.command).unwrap();
        let words = shlex::split(compile).unwrap();
        let [from, to] =
            ["bundle.enerinfer", "enerinfer-runtime"].map(|f| format!("out/{name}/{f}"));
        assert_eq!(words, ["compile-forest", &from, "--out", &to], "{section}");
    }
}

#[test]
fn what_it_was_optimised_for_is_in_cost_profile_and_command() {
    let bundle = common::tiny_bundle();
    for (optimise, level, option) in
        [(Optimise::Size, "\"z\"", ""), (Optimise::Speed, "3", " --optimise speed")]
    {
        let options = Options { optimise, ..Options::default() };
        let files = generate(&bundle, &options).unwrap().files;
        let text = |name: &str| String::from_utf8(files[name].clone()).unwrap();
        let (readme, manifest) = (text("README.md"), text("Cargo.toml"));
        assert!(manifest.contains(&format!("\nopt-level = {level}")), "{manifest}");
        let line = format!(
            "compile-forest out/tiny/bundle.enerinfer --out out/tiny/enerinfer-runtime{option}\n"
        );
        assert!(readme.contains(&line), "{readme}");
        let speed = optimise == Optimise::Speed;
        let cost = section(&readme, "Cost");
        assert_eq!(cost.contains("profile says `3`"), speed, "{cost}");
        assert_eq!(cost.contains("as in this crate's own profile"), !speed, "{cost}");
        // Only where it is said, there is code for single operating points.
        assert_eq!(files.contains_key("src/model/power_at.rs"), speed);
    }
}

/// The lines of a section, by its heading.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let after = text.split(&format!("\n## {heading}\n")).nth(1).unwrap();
    after.split("\n## ").next().unwrap()
}

#[test]
fn valid_ranges_are_those_that_the_device_checks() {
    let mut bundle = common::tiny_bundle();
    let text = readme(&bundle);
    let ranges = section(&text, "Valid ranges");
    assert!(ranges.contains("`Coverage::Extrapolated { feature }`"), "{ranges}");
    let model = file(&bundle, "src/model/mod.rs");
    let checked = model.matches("Range { feature: ").count();
    assert!(checked > 3, "{model}");
    assert_eq!(ranges.matches("\n| `").count(), checked, "{ranges}");
    assert!(ranges.contains("\n| `layers` | 4 | 64 |\n"), "{ranges}");

    // What a shape outside is divided by is said, where it is.
    assert!(ranges.contains("divided by the shape's own `read_params_k`"), "{ranges}");
    let mut unscaled = bundle.clone();
    unscaled.predictors[0].normaliser = None;
    assert!(!section(&readme(&unscaled), "Valid ranges").contains("divided by"));

    // Imported without a range: nothing is known, and nothing is made up.
    for predictor in &mut bundle.predictors {
        for domain in &mut predictor.domain {
            *domain = Domain { min: 0, max: u32::MAX };
        }
    }
    let text = readme(&bundle);
    assert!(section(&text, "Valid ranges").contains("\n| `layers` | not known | not known |\n"));
}

#[test]
fn costs_say_whether_they_are_estimated_or_computed() {
    let bundle = common::tiny_bundle();
    let text = readme(&bundle);
    let cost = section(&text, "Cost");
    assert!(cost.contains("Flash is an estimate") && cost.contains("flash (estimate)"), "{cost}");
    assert!(cost.contains("Comparisons are computed"), "{cost}");
    let stack = cost.lines().find(|line| line.starts_with("Stack ")).unwrap();
    assert!(stack.contains("(estimate)"), "{stack}");
    let generated = generate(&bundle, &Options::default()).unwrap();
    for size in generated.sizes {
        let c = size.comparisons;
        let row = format!(
            "| {} | {} | {} | {} | {} |",
            size.target, size.trees, size.tree_leaves, c.lookup, c.in_trees
        );
        assert!(c.lookup > 0 && c.in_trees > 0 && cost.contains(&row), "{row}: {cost}");
    }
}
