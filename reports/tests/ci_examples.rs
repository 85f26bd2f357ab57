//! The examples in `docs/ci` are what they claim to be.

#![allow(clippy::unwrap_used)] // a test's way to fail

use std::fs;
use std::path::PathBuf;

use enerinfer_reports::{Policy, Record, check};
use yaml_rust2::{Yaml, YamlLoader};

fn example(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/ci").join(name);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn yaml(name: &str) -> Yaml {
    let mut documents = YamlLoader::load_from_str(&example(name)).unwrap();
    assert_eq!(documents.len(), 1, "{name}");
    documents.remove(0)
}

/// The verbs of `report` in a script, in order.
fn verbs(script: &str) -> Vec<&str> {
    let words: Vec<&str> = script.split_whitespace().collect();
    words.windows(2).filter(|w| w[0] == "report").map(|w| w[1]).collect()
}

#[test]
fn policy_parses_and_applies() {
    let policy = Policy::parse(&example("gates.toml")).unwrap();
    let record = Record::from_json(include_str!("data/orin.json")).unwrap();
    let checks = check(&policy, &record, Some(&record)).unwrap();
    assert_eq!(checks.len(), 9);
    assert!(checks.iter().all(|c| !c.detail.contains("missing")));
}

/// Records of other seeds hold out other models, so that a gate on a loss finds none in common.
#[test]
fn both_jobs_train_with_the_seed_of_the_readmes_record() {
    let readme = include_str!("../../README.md");
    let (_, seed) = readme.split_once("held out; seed ").unwrap();
    let seed = seed.split_whitespace().next().unwrap();
    for name in ["github-actions.yml", "gitlab-ci.yml"] {
        let text = example(name);
        let (_, command) = text.split_once("train --platform").unwrap();
        let command = command.lines().next().unwrap();
        assert!(command.contains(&format!(" --seed {seed} ")), "{name}: {command}");
    }
}

#[test]
fn github_workflow() {
    let workflow = yaml("github-actions.yml");
    let steps = workflow["jobs"]["orin"]["steps"].as_vec().unwrap();
    let mut script = String::new();
    for step in steps {
        // Every step runs or uses something, not both.
        assert!(step["run"].is_badvalue() != step["uses"].is_badvalue());
        script.push_str(step["run"].as_str().unwrap_or_default());
        script.push('\n');
    }
    assert_eq!(verbs(&script), ["render", "gate"]);
}

#[test]
fn gitlab_job() {
    let job = &yaml("gitlab-ci.yml")["accuracy:orin"];
    let lines = job["script"].as_vec().unwrap();
    let script: Vec<&str> = lines.iter().map(|line| line.as_str().unwrap()).collect();
    assert_eq!(verbs(&script.join("\n")), ["render", "gate"]);
    assert_eq!(job["artifacts"]["reports"]["junit"].as_str(), Some("public/orin/junit.xml"));
}
