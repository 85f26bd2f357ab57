//! From `train` to an hour on a phone, in which the generated crate alone decides.
#![allow(clippy::unwrap_used)] // a test's way to fail

mod common;

use std::process::Command;

use common::train;

/// Runs the hour as the controllers are delivered, and with a threshold that is never reached.
const MAIN: &str = r#"
mod hour;
use enerinfer_runtime::coordinator::Config;
use enerinfer_runtime::{Predictor, Shape};
use enerinfer_runtime::temperature::MilliCelsius;
fn main() {
    let mut hot = Config::default();
    hot.thermal.t_max = MilliCelsius(90_000);
    hot.thermal.t_pre = MilliCelsius(90_000);
    for (name, config) in [("cool", Config::default()), ("hot", hot)] {
        let h = hour::run(config);
        println!("{name} tokens {}", h.tokens);
        println!("{name} decoding_s {}", h.decoding_s);
        println!("{name} slow_s {}", h.slow_s);
        println!("{name} thermal_s {}", h.thermal_s);
        println!("{name} changes {}", h.changes);
        println!("{name} hottest_mc {}", h.hottest_mc);
        eprintln!("{:016x}", h.digest);
    }
    // Qwen2-1.5B, and a mixture that reads the same weights per token: predicted alike but for the
    // router, and flagged.
    let dense = Shape::new(28, 1536, 12, 2, 8960, 151_936).tied_embeddings();
    let mixture = Shape::new(28, 1536, 12, 2, 1120, 151_936).tied_embeddings().with_experts(64, 8);
    // Of heads so wide that no model's is: by what it reads alone, as its parameters are given.
    let wide = dense.with_total_params(1_543_714_304).with_head_dim(100_000);
    for (name, shape) in [("dense", dense), ("mixture", mixture), ("wide", wide)] {
        println!("{name} {:?}", Predictor::tables(&shape).coverage);
        println!("{name} {:?} at one point", Predictor::at_point(&shape, 0).unwrap().coverage);
    }
}
"#;

/// A number that the program printed.
fn value(said: &str, name: &str) -> i64 {
    let line = said.lines().find_map(|l| l.strip_prefix(name)).unwrap();
    line.trim().parse().unwrap()
}

#[test]
fn a_trained_phone_stays_cool_and_fast_for_an_hour_without_the_workspace() {
    let folder = tempfile::tempdir().unwrap();
    let small = ["--platform", "h_phone", "--models", "60", "--trials", "10", "--quiet"];
    let run = train(folder.path(), &small);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("thermal          mean error"), "{}", run.stdout);
    let package = folder.path().join("hour");
    std::fs::create_dir_all(package.join("src")).unwrap();
    let manifest = "[package]\nname = \"hour\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\
         [dependencies]\n\
         enerinfer-runtime = { path = \"../out/h_phone/enerinfer-runtime\" }\n[workspace]\n";
    std::fs::write(package.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(package.join("src/main.rs"), MAIN).unwrap();
    let hour = include_str!("../../codegen/checks/embedded/src/hour.rs");
    std::fs::write(package.join("src/hour.rs"), hour).unwrap();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["run", "--quiet", "--offline"])
        .current_dir(&package)
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    println!("{said}");
    let of = |name: &str| value(&said, name);
    // 22 requests of 150 s and the beginning of one more.
    assert_eq!(of("cool decoding_s "), 22 * 150 + 80);
    assert_eq!(of("hot thermal_s "), 0);
    assert!(of("hot hottest_mc ") > 43_000, "the phone must need the controller:\n{said}");
    assert!(of("cool hottest_mc ") < 42_300, "the threshold is 42 °C:\n{said}");
    assert!(of("cool thermal_s ") > 60, "{said}");
    for at in ["", " at one point"] {
        let lines = [
            format!("dense Inside{at}\n"),
            format!("mixture Extrapolated {{ feature: Experts }}{at}\n"),
            format!("wide Extrapolated {{ feature: ReadParamsK }}{at}\n"),
        ];
        assert!(lines.iter().all(|line| said.contains(line)), "{said}");
    }
}
