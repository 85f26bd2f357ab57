//! Whole collections with an engine made of shell and with made-up nodes.
#![allow(clippy::unwrap_used)] // a test's way to fail

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use enerinfer_collect::journal::{Entry, RunId};
use enerinfer_collect::{
    Candidate, Clocks, CollectError, Collection, CommandEngine, Discard, Engine, EngineError,
    EngineRun, Journal, Options, Outcome, OutputForm, Plan, Repetitions, Request, Results, Rules,
    Sensors, Setting, Span, StageTiming, TableLabels, Watch, estimate, in_folder,
    measurement_table, of_clocks, of_threads, power, spread_csv,
};
use enerinfer_datasets::synthesize::GgufOptions;
use enerinfer_datasets::{LlmShape, Model, ShapeSpec, WeightFormat};
use enerinfer_linux::devfreq::Request as MemRequest;
use enerinfer_linux::files::{Files, System};
use enerinfer_linux::{discover, journal as clock_journal, zones};

fn shape(layers: u32) -> LlmShape {
    LlmShape::new(ShapeSpec {
        layers,
        hidden: 64,
        heads: 2,
        kv_heads: 1,
        ffn: 128,
        vocab: 512,
        ..ShapeSpec::default()
    })
    .unwrap()
}

fn candidates(count: u32) -> Vec<Candidate> {
    (1..=count)
        .map(|i| {
            let model = Model { name: format!("m{i}"), shape: shape(i) };
            Candidate::synthetic(model, WeightFormat::Q4_0, GgufOptions::default()).unwrap()
        })
        .collect()
}

fn plan(models: u32, settings: Vec<Setting>) -> Plan {
    Plan {
        models: candidates(models),
        settings,
        request: Request {
            threads: 0,
            prompt_tokens: 4,
            generate_tokens: 8,
            warm_up_tokens: 1,
            timeout: Duration::from_secs(60),
        },
        engine: "fake".to_owned(),
        engine_identity: "fake".to_owned(),
        seed: 7,
    }
}

const ONCE: Repetitions = Repetitions { least: 1, most: 1, ci_percent: 1.0 };
const NO_RULES: Rules = Rules { min_cpu_share: None, max_load: None, max_temp_c: None };

/// A folder for a journal, for models and for nodes.
struct Bench {
    dir: tempfile::TempDir,
    repetitions: Repetitions,
    rules: Rules,
    budget: Option<Duration>,
    sensors: Sensors,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Bench { dir, repetitions: ONCE, rules: NO_RULES, budget: None, sensors: Sensors::default() }
    }

    fn node(&self, path: &str, text: &str) {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn files(&self) -> Arc<dyn Files> {
        Arc::new(System::below(self.dir.path()))
    }

    fn journal(&self) -> PathBuf {
        self.dir.path().join("journal")
    }

    fn run(&self, plan: &Plan, engine: &mut dyn Engine) -> Result<Outcome, CollectError> {
        self.run_with(plan, engine, &mut Clocks::left_alone())
    }

    fn run_with(
        &self,
        plan: &Plan,
        engine: &mut dyn Engine,
        clocks: &mut Clocks,
    ) -> Result<Outcome, CollectError> {
        let (mut journal, entries) = Journal::open(&self.journal(), &plan.digest())?;
        let files = self.files();
        let options = Options {
            repetitions: self.repetitions,
            rules: self.rules,
            time_budget: self.budget,
            folder: self.dir.path().to_owned(),
            stop: Arc::new(AtomicBool::new(false)),
        };
        let watch = Watch::new(Arc::clone(&files), self.sensors.clone(), Duration::from_millis(1));
        Collection { plan, engine, clocks, watch: &watch, files: &*files, options: &options }.run(
            &mut journal,
            &entries,
            &mut |_| {},
        )
    }

    fn ids(&self) -> Vec<RunId> {
        let entries = enerinfer_collect::journal::read(&self.journal()).unwrap();
        entries
            .into_iter()
            .filter_map(|e| match e {
                Entry::Run(run) => Some(run.id),
                _ => None,
            })
            .collect()
    }
}

/// An engine without a process: the speed is asked of a function.
struct Fake<F: FnMut(&Path, &Request) -> Result<EngineRun, EngineError>>(F);

impl<F: FnMut(&Path, &Request) -> Result<EngineRun, EngineError>> Engine for Fake<F> {
    fn name(&self) -> &str {
        "fake"
    }
    fn spans_decode_only(&self) -> bool {
        true
    }
    fn run(&mut self, model: &Path, request: &Request) -> Result<EngineRun, EngineError> {
        assert!(model.is_file(), "the model is there while it is measured");
        (self.0)(model, request)
    }
}

fn speed(tok_per_s: f64, cpu_share: f64, threads: u32) -> EngineRun {
    let span = Span { begin_unix_s: 0.0, wall_s: 1.0, cpu_s: cpu_share * f64::from(threads) };
    EngineRun { timing: StageTiming::of_tokens(vec![1.0 / tok_per_s]), load_s: None, span }
}

#[test]
fn the_order_is_decided_by_the_seed_and_covers_everything() {
    let plan = plan(6, of_threads(&[2, 1]));
    let first = plan.order(0);
    assert_eq!(first, plan.order(0));
    assert_ne!(first, plan.order(1), "rounds differ");
    assert_ne!(first, Plan { seed: 8, ..plan.clone() }.order(0), "seeds differ");
    let all: BTreeSet<_> = first.iter().copied().collect();
    assert_eq!((all.len(), first.len()), (12, 12));
    // The settings of a model follow each other, so that it is loaded once.
    assert!(first.chunks(2).all(|pair| pair[0].model == pair[1].model));

    let bench = Bench::new();
    bench.run(&plan, &mut Fake(|_, r| Ok(speed(5.0, 1.0, r.threads)))).unwrap();
    let ran: Vec<(String, u32)> =
        bench.ids().into_iter().map(|id| (id.model, id.setting.threads)).collect();
    let expected: Vec<(String, u32)> = first
        .iter()
        .map(|c| (format!("m{}", c.model + 1), plan.settings[c.setting].threads))
        .collect();
    assert_eq!(ran, expected);
}

#[test]
fn medians_and_spread_reach_the_table() {
    let plan = plan(2, of_threads(&[1, 2]));
    let bench =
        Bench { repetitions: Repetitions { least: 3, most: 3, ci_percent: 1.0 }, ..Bench::new() };
    let mut speeds = [10.0, 30.0, 20.0].into_iter().cycle();
    let mut rounds = 0;
    let mut current = 10.0;
    let mut engine = Fake(|_: &Path, r: &Request| {
        if rounds % 4 == 0 {
            current = speeds.next().unwrap();
        }
        rounds += 1;
        Ok(speed(current * f64::from(r.threads), 1.0, r.threads))
    });
    let outcome = bench.run(&plan, &mut engine).unwrap();
    assert!(outcome.complete);
    let labels =
        TableLabels { platform: "p".into(), power_domain: "none".into(), how: "test".into() };
    let table =
        measurement_table(&plan, &outcome.results, WeightFormat::Q4_0, 3, &labels, &|_| None)
            .unwrap()
            .unwrap();
    assert_eq!(table.platform.clocks.accel_khz, [1000, 2000]);
    let values: Vec<f64> = table.rows.iter().map(|r| r.throughput_tok_per_s).collect();
    assert_eq!(values, [20.0, 40.0, 20.0, 40.0]);
    assert!(table.rows.iter().all(|r| r.samples == 3 && r.power_w.is_none()));
    assert_eq!(table.workload.context_tokens, Some(8));
    let spread = spread_csv(&plan, &outcome.results);
    assert!(spread.contains("m1,q4_0,1,1,1,3,0,0,20.0000,10.0000,30.0000,100.00,"), "{spread}");
    assert!(
        !bench
            .dir
            .path()
            .read_dir()
            .unwrap()
            .any(|e| { e.unwrap().path().extension().is_some_and(|x| x == "gguf") }),
        "synthetic models are removed"
    );
}

#[test]
fn repetitions_end_when_the_interval_is_narrow() {
    let plan = plan(1, of_threads(&[1]));
    let steady =
        Bench { repetitions: Repetitions { least: 3, most: 9, ci_percent: 3.0 }, ..Bench::new() };
    steady.run(&plan, &mut Fake(|_, _| Ok(speed(5.0, 1.0, 1)))).unwrap();
    assert_eq!(steady.ids().len(), 3);
    let noisy = Bench { repetitions: steady.repetitions, ..Bench::new() };
    let mut n = 0;
    let mut engine = Fake(|_: &Path, _: &Request| {
        n += 1;
        Ok(speed(if n % 2 == 0 { 5.0 } else { 10.0 }, 1.0, 1))
    });
    noisy.run(&plan, &mut engine).unwrap();
    assert_eq!(noisy.ids().len(), 9);
}

#[test]
fn disturbed_runs_are_repeated_and_do_not_count() {
    let plan = plan(1, of_threads(&[2]));
    let bench = Bench {
        repetitions: Repetitions { least: 2, most: 2, ci_percent: 1.0 },
        rules: Rules { min_cpu_share: Some(0.9), ..NO_RULES },
        ..Bench::new()
    };
    let mut shares = [0.5, 1.0, 0.89, 0.95].into_iter();
    let mut engine =
        Fake(|_: &Path, r: &Request| Ok(speed(5.0, shares.next().unwrap_or(1.0), r.threads)));
    let outcome = bench.run(&plan, &mut engine).unwrap();
    let cell = &outcome.results.cells[0];
    assert_eq!((cell.kept.len(), cell.discarded), (2, 2));
    assert!(outcome.complete);
}

#[test]
fn a_machine_that_is_never_quiet_ends_too() {
    let plan = plan(1, of_threads(&[1]));
    let bench = Bench {
        repetitions: Repetitions { least: 2, most: 3, ci_percent: 1.0 },
        rules: Rules { max_load: Some(1.0), ..NO_RULES },
        ..Bench::new()
    };
    bench.node("proc/loadavg", "3.50 2.00 1.00 3/200 1234\n");
    let outcome = bench.run(&plan, &mut Fake(|_, _| Ok(speed(5.0, 1.0, 1)))).unwrap();
    assert_eq!((outcome.results.cells[0].kept.len(), outcome.results.cells[0].discarded), (0, 6));
    let entries = enerinfer_collect::journal::read(&bench.journal()).unwrap();
    assert!(entries.iter().any(
        |e| matches!(e, Entry::Run(r) if r.discarded == Some(Discard::Busy(3.5)) && r.load == Some(3.5))
    ));
}

#[test]
fn a_model_that_fails_is_given_up_and_the_others_go_on() {
    let plan = plan(3, of_threads(&[1, 2]));
    let bench =
        Bench { repetitions: Repetitions { least: 3, most: 3, ci_percent: 1.0 }, ..Bench::new() };
    let largest = plan.models[2].file_bytes;
    let mut engine = Fake(|path: &Path, r: &Request| {
        if path.metadata().unwrap().len() == largest {
            return Err(EngineError::Implausible { what: "speed", value: "NaN".into() });
        }
        Ok(speed(5.0, 1.0, r.threads))
    });
    let outcome = bench.run(&plan, &mut engine).unwrap();
    let given_up: Vec<bool> =
        (0..3).map(|m| outcome.results.model_given_up(&plan, m).is_some()).collect();
    assert_eq!(given_up, [false, false, true]);
    let reason = outcome.results.model_given_up(&plan, 2).unwrap().last_error.clone().unwrap();
    assert!(reason.contains("NaN"), "{reason}");
    assert_eq!(bench.ids().len(), 12);
}

#[test]
fn an_engine_that_is_not_there_ends_the_collection() {
    let plan = plan(2, of_threads(&[1]));
    let form = OutputForm::LlamaBench;
    let mut engine = CommandEngine::new("fake".into(), "/no/such {model}", form).unwrap();
    let error = Bench::new().run(&plan, &mut engine).unwrap_err();
    assert!(matches!(error, CollectError::Engine(EngineError::Start { .. })));
}

#[test]
fn a_spent_budget_and_a_new_sitting_give_the_same_runs() {
    let plan = plan(5, of_threads(&[1, 2]));
    let whole = Bench::new();
    whole.run(&plan, &mut Fake(|_, r| Ok(speed(5.0, 1.0, r.threads)))).unwrap();
    let mut pieces = Bench { budget: Some(Duration::ZERO), ..Bench::new() };
    let outcome = pieces.run(&plan, &mut Fake(|_, r| Ok(speed(5.0, 1.0, r.threads)))).unwrap();
    assert!(!outcome.complete && pieces.ids().is_empty());
    // Sittings that each end after four runs, as a crash would end them.
    pieces.budget = None;
    let whole_at_last = (0..4).any(|_| {
        let mut left = 4;
        let mut engine = Fake(|_: &Path, r: &Request| {
            if left == 0 {
                return Err(EngineError::Start {
                    program: "x".into(),
                    reason: "pulled out".into(),
                });
            }
            left -= 1;
            Ok(speed(5.0, 1.0, r.threads))
        });
        match pieces.run(&plan, &mut engine) {
            Ok(outcome) => outcome.complete,
            Err(CollectError::Engine(EngineError::Start { .. })) => false,
            Err(other) => panic!("{other}"),
        }
    });
    assert!(whole_at_last);
    // What was running when it was pulled out is run in the next round.
    let all =
        |b: &Bench| b.ids().into_iter().map(|i| (i.model, i.setting)).collect::<BTreeSet<_>>();
    assert_eq!(all(&whole), all(&pieces));
}

#[test]
fn journals_of_another_plan_or_with_damage_are_refused() {
    let bench = Bench::new();
    let one = plan(1, of_threads(&[1]));
    bench.run(&one, &mut Fake(|_, _| Ok(speed(5.0, 1.0, 1)))).unwrap();
    let other = plan(2, of_threads(&[1]));
    let error = bench.run(&other, &mut Fake(|_, _| Ok(speed(5.0, 1.0, 1)))).unwrap_err();
    assert!(error.to_string().contains("line 1: is of other models"), "{error}");
    // A line that was cut is removed; damage before the end is named.
    let text = fs::read_to_string(bench.journal()).unwrap();
    fs::write(bench.journal(), format!("{text}{{\"kind\":\"be")).unwrap();
    let (_, entries) = Journal::open(&bench.journal(), &one.digest()).unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!(fs::read_to_string(bench.journal()).unwrap(), text);
    fs::write(bench.journal(), format!("{text}nonsense\n{text}")).unwrap();
    let error = Journal::open(&bench.journal(), &one.digest()).unwrap_err().to_string();
    assert!(error.contains("line 4: not understood"), "{error}");
}

#[test]
fn a_file_that_is_no_journal_is_left_as_it_was() {
    let bench = Bench::new();
    let plan = plan(1, of_threads(&[1]));
    for text in ["my notes", "line one\nline two", "{\"kind\":\"run\"}\nx", "GGUF\u{3}"] {
        fs::write(bench.journal(), text).unwrap();
        Journal::open(&bench.journal(), &plan.digest()).unwrap_err();
        assert_eq!(fs::read_to_string(bench.journal()).unwrap(), text);
    }
    // A journal that a crash left after half a line of its head is begun again.
    fs::write(bench.journal(), "{\"kind\":\"pl").unwrap();
    Journal::open(&bench.journal(), &plan.digest()).unwrap();
}

#[test]
fn a_journal_has_one_collection_at_a_time_and_one_engine() {
    let bench = Bench::new();
    let mut plan = plan(1, of_threads(&[1]));
    let first = Journal::open(&bench.journal(), &plan.digest()).unwrap();
    let error = Journal::open(&bench.journal(), &plan.digest()).unwrap_err().to_string();
    assert!(error.contains("another collection"), "{error}");
    drop(first);
    Journal::open(&bench.journal(), &plan.digest()).unwrap();
    let form = OutputForm::parse(&["llama-bench".to_owned()]).unwrap();
    let engine = |template| CommandEngine::new("bench".into(), template, form.clone()).unwrap();
    assert_ne!(engine("b {model}").identity(), engine("b {model} -ngl 99").identity());
    plan.engine_identity = engine("b {model}").identity();
    let error = Journal::open(&bench.journal(), &plan.digest()).unwrap_err().to_string();
    assert!(error.contains("is of other models"), "{error}");
}

#[test]
fn a_run_that_never_ended_counts_as_a_failure() {
    let plan = plan(1, of_threads(&[1]));
    let id =
        RunId { model: "m1".into(), format: "q4_0".into(), setting: plan.settings[0], round: 0 };
    let crashed = [Entry::Begin(id.clone()), Entry::Begin(RunId { round: 1, ..id })];
    let results = Results::of(&plan, &crashed);
    assert!(results.cells[0].given_up(), "it would take down every sitting");
    assert!(!Results::of(&plan, &crashed[..1]).cells[0].given_up());
}

#[test]
fn clocks_are_set_read_back_and_given_back() {
    let bench = Bench { repetitions: ONCE, ..Bench::new() };
    let gpu = "sys/class/devfreq/17000000.gpu";
    for (name, text) in [
        ("available_frequencies", "300000000 600000000"),
        ("available_governors", "nvhost_podgov performance"),
        ("governor", "nvhost_podgov"),
        ("min_freq", "300000000"),
        ("max_freq", "600000000"),
        ("cur_freq", "300000000"),
    ] {
        bench.node(&format!("{gpu}/{name}"), text);
    }
    let files = bench.files();
    let take = || {
        let accel = discover::accelerator(&files).ok();
        let mem = discover::memory(&files, MemRequest::Exactly).ok();
        let path = bench.dir.path().join("clocks");
        let journal = clock_journal::Journal::try_open(&path).unwrap().unwrap();
        Clocks::new(accel, mem, Duration::ZERO, journal, &*files).unwrap()
    };
    let read = |name: &str| fs::read_to_string(bench.dir.path().join(gpu).join(name)).unwrap();
    let before = (read("min_freq"), read("max_freq"), read("governor"));
    // The made-up node does not follow: what was set is not what reads back.
    let plan = plan(1, of_clocks(1, &[600_000], &[1000]));
    let error =
        bench.run_with(&plan, &mut Fake(|_, _| Ok(speed(5.0, 1.0, 1))), &mut take()).unwrap_err();
    assert!(
        matches!(error, CollectError::ReadBack { wanted_khz: 600_000, got_khz: 300_000, .. }),
        "{error}"
    );
    assert_eq!((read("min_freq"), read("max_freq"), read("governor")), before);
    // One that does.
    bench.node(&format!("{gpu}/cur_freq"), "600000000");
    let mut seen = Vec::new();
    let mut engine = Fake(|_: &Path, _: &Request| {
        seen.push((read("min_freq"), read("max_freq")));
        Ok(speed(5.0, 1.0, 1))
    });
    bench.run_with(&plan, &mut engine, &mut take()).unwrap();
    assert_eq!(seen, [("600000000".to_owned(), "600000000".to_owned())]);
    assert_eq!((read("min_freq"), read("max_freq"), read("governor")), before);
    assert!(!bench.dir.path().join("clocks").exists());
}

#[test]
fn power_and_temperature_are_sampled_beside() {
    let bench = Bench::new();
    for (path, text) in [
        ("sys/class/hwmon/hwmon0/name", "ina3221\n"),
        ("sys/class/hwmon/hwmon0/in1_input", "5000"),
        ("sys/class/hwmon/hwmon0/in1_label", "VDD_IN"),
        ("sys/class/hwmon/hwmon0/curr1_input", "2000"),
        ("sys/class/hwmon/hwmon1/name", "meter"),
        ("sys/class/hwmon/hwmon1/power1_input", "2500000"),
        ("sys/class/thermal/thermal_zone0/type", "skin-therm"),
        ("sys/class/thermal/thermal_zone0/temp", "41500"),
    ] {
        bench.node(path, text);
    }
    let files = bench.files();
    let found = power::discover(&*files);
    let names: Vec<&str> = found.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["ina3221/VDD_IN", "meter/power1"]);
    let sensors = Sensors {
        zones: zones::shell(&zones::discover(&*files)),
        total: vec![found[0].clone()],
        accel: vec![found[1].clone()],
    };
    let bench = Bench { sensors, rules: Rules { max_temp_c: Some(41.0), ..NO_RULES }, ..bench };
    let plan = plan(1, of_threads(&[1]));
    let mut engine = Fake(|_: &Path, _: &Request| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        std::thread::sleep(Duration::from_millis(60));
        let span = Span { begin_unix_s: now.as_secs_f64(), wall_s: 0.06, cpu_s: 0.06 };
        Ok(EngineRun { span, ..speed(5.0, 1.0, 1) })
    });
    bench.run(&plan, &mut engine).unwrap();
    let entries = enerinfer_collect::journal::read(&bench.journal()).unwrap();
    let run = entries.iter().find_map(|e| match e {
        Entry::Run(run) => Some(run),
        _ => None,
    });
    let run = run.unwrap();
    assert_eq!(run.sampled.power_w, Some(10.0));
    assert_eq!(run.sampled.accel_power_w, Some(2.5));
    assert_eq!(run.discarded, Some(Discard::Hot(41.5)));
}

#[test]
fn files_that_cannot_be_measured_are_left_out_by_name() {
    let bench = Bench::new();
    let dir = bench.dir.path();
    let good = &candidates(1)[0];
    let lease = good.lease(dir).unwrap();
    fs::copy(lease.path(), dir.join("good.gguf")).unwrap();
    drop(lease);
    fs::write(dir.join("broken.gguf"), b"GGUF\x03").unwrap();
    fs::write(dir.join("empty.gguf"), b"").unwrap();
    fs::write(dir.join("notes.txt"), b"not a model").unwrap();
    let (found, left_out) = in_folder(dir).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].model.name.as_str(), found[0].format), ("good", WeightFormat::Q4_0));
    assert_eq!(found[0].model.shape.dims(), good.model.shape.dims());
    let names: Vec<_> = left_out.iter().map(|l| l.path.file_name().unwrap().to_owned()).collect();
    assert_eq!(names, ["broken.gguf", "empty.gguf"]);
    assert!(in_folder(&dir.join("none")).is_err());
}

#[test]
fn the_estimate_grows_with_the_work() {
    let one = plan(1, of_threads(&[1]));
    let more = plan(4, of_threads(&[1, 2]));
    let (a, b) = (estimate(&one, 3, Duration::ZERO), estimate(&more, 3, Duration::ZERO));
    assert_eq!((a.runs, b.runs), (3, 24));
    assert!(b.time > a.time && b.largest_file_bytes > a.largest_file_bytes);
    assert!(estimate(&one, 3, Duration::from_secs(1)).time >= Duration::from_secs(3));
}
