//! The default fusion: what it promises, on users' cases and on random logs.
#![allow(clippy::unwrap_used)] // a test's way to fail
#![allow(clippy::unwrap_used)] // a test's way to fail

use enerinfer_telemetry::fuse::{
    Boundary, FuseOptions, Fused, NegativePower, WindowFlag, fuse, infer_zone,
};
use enerinfer_telemetry::sync::{CounterCheck, PhaseTimings};
use enerinfer_telemetry::{
    Channel, Error, Prompt, Quantity, Row, SampleReader, Stamp, Tally, TextTable, Zone,
    read_prompts,
};
use proptest::prelude::*;

/// A log in memory: `(ns, total_mw)`.
struct Log {
    channels: Vec<Channel>,
    samples: Vec<(Stamp, f64)>,
    at: usize,
    tally: Tally,
}

impl Log {
    fn new(samples: Vec<(Stamp, f64)>) -> Self {
        let channels = vec![Channel { name: "total_mw".to_owned(), quantity: Quantity::Power }];
        Log { channels, samples, at: 0, tally: Tally::default() }
    }

    fn utc(samples: &[(i64, f64)]) -> Self {
        Log::new(samples.iter().map(|&(t, v)| (Stamp::Utc(t), v)).collect())
    }
}

impl SampleReader for Log {
    fn channels(&self) -> &[Channel] {
        &self.channels
    }

    fn read(&mut self, row: &mut Row) -> Result<bool, Error> {
        let Some(&(stamp, v)) = self.samples.get(self.at) else { return Ok(false) };
        self.at += 1;
        row.stamp = stamp;
        row.values = vec![v];
        self.tally.accept(&[]);
        Ok(true)
    }

    fn tally(&self) -> &Tally {
        &self.tally
    }
}

fn options() -> FuseOptions {
    FuseOptions::new(Zone::parse("UTC").unwrap())
}

const S: i64 = 1_000_000_000;

fn prompt(row: usize, start_ns: i64, prefill_ns: i64, end_ns: i64) -> Prompt {
    let text = format!(
        "start_time,end_time,prefill_time\n{start_ns},{end_ns},{}\n",
        prefill_ns as f64 / 1e9
    );
    let (mut p, _) = read_prompts(&TextTable::read(text.as_bytes()).unwrap()).unwrap();
    let mut p = p.remove(0);
    p.row = row;
    p
}

fn energy(f: &Fused, i: usize) -> [Option<f64>; 3] {
    let p = &f.prompts[i];
    [&p.prefill, &p.decode, &p.whole()].map(|w| w.energy_j(0).map(|(e, _)| e))
}

#[test]
fn a_prefill_shorter_than_the_sampling_period_has_no_mean_and_is_not_dropped() {
    let info =
        TextTable::read(&include_bytes!("data/cases/csv/INFO_short_prefill.csv")[..]).unwrap();
    let (prompts, tally) = read_prompts(&info).unwrap();
    assert_eq!((prompts.len(), tally.refused), (2, 0));
    let t0 = prompts[0].start_ns;
    // One sample a second, one of them exactly at the end of the second prefill.
    let boundary = prompts[1].prefill_end_ns();
    let mut samples: Vec<(i64, f64)> =
        (-1..=9).map(|k| (t0 + k * S + S / 2, 1000.0 * (k + 2) as f64)).collect();
    samples.push((boundary, 7000.0));
    samples.sort_by_key(|s| s.0);
    let f = fuse(prompts, &mut Log::utc(&samples), &options()).unwrap();
    let p = &f.prompts[0];
    assert_eq!((p.prefill.samples, p.prefill.mean(0)), (0, None));
    assert!(p.window_flags(&p.prefill, Some(0), &options()).contains(&WindowFlag::NoSamples));
    // The boundary sample counts in decode only.
    let p = &f.prompts[1];
    assert_eq!((p.prefill.samples, p.decode.samples, p.whole().samples), (0, 5, 5));
    for i in 0..2 {
        let [a, b, both] = energy(&f, i).map(Option::unwrap);
        assert!((a + b - both).abs() < 1e-9 * both, "{a} {b} {both}");
    }
}

#[test]
fn a_sample_before_the_window_is_not_attached_to_it() {
    let run = || vec![prompt(1, 10 * S, S / 10, 12 * S)];
    let before = [(99 * S / 10, 5000.0)];
    assert!(fuse(run(), &mut Log::utc(&before), &options()).is_err());
    let f = fuse(run(), &mut Log::utc(&[before[0], (20 * S, 1.0), (11 * S, 3.0)]), &options());
    assert_eq!(energy(&f.unwrap(), 0), [None; 3]);
    // Trailing averages: the sample 0.2 s into the window still describes what was before.
    let lagging = FuseOptions { lag_s: 0.5, ..options() };
    let log = [(10 * S + S / 5, 5000.0), (11 * S, 3000.0)];
    let f = fuse(run(), &mut Log::utc(&log), &lagging).unwrap();
    assert_eq!(f.prompts[0].decode.mean(0), Some(3000.0));
}

#[test]
fn overlapping_prompts_are_named_and_get_nothing() {
    let prompts =
        vec![prompt(1, 0, S, 5 * S), prompt(2, 4 * S, S, 8 * S), prompt(3, 8 * S, S, 9 * S)];
    let log: Vec<(i64, f64)> = (0..20).map(|k| (k * S / 2, 1000.0)).collect();
    let f = fuse(prompts, &mut Log::utc(&log), &options()).unwrap();
    let flagged: Vec<bool> =
        f.prompts.iter().map(|p| p.flags.contains(&WindowFlag::Overlap)).collect();
    assert_eq!(flagged, [true, true, false]);
    assert_eq!(f.prompts[0].whole().samples, 0);
    // Touching windows are no overlap: the sample at 8 s belongs to the third.
    assert_eq!(f.prompts[2].whole().samples, 2);
    assert!(f.tally.warnings.iter().any(|w| w.contains("rows 1, 2")));
}

#[test]
fn energy_is_integrated_over_real_times_not_a_nominal_interval() {
    // 80.7 W every 0.436 s though the logger was asked for 0.1 s.
    let log: Vec<(i64, f64)> = (0..100).map(|k| (k * 436_000_000, 80700.0)).collect();
    let f = fuse(vec![prompt(1, 0, S, 40 * S)], &mut Log::utc(&log), &options()).unwrap();
    let [_, _, e] = energy(&f, 0);
    assert!((e.unwrap() - 80.7 * 40.0).abs() < 1e-6);
    let gap = [(0, 1000.0), (S, 1000.0), (30 * S, 1000.0), (31 * S, 1000.0)];
    let f = fuse(vec![prompt(1, 0, S, 31 * S)], &mut Log::utc(&gap), &options()).unwrap();
    let whole = f.prompts[0].whole();
    assert_eq!(whole.energy_j(0), Some((2.0, 2.0 / 31.0)));
    assert!(
        f.prompts[0].window_flags(&whole, Some(0), &options()).contains(&WindowFlag::PartlyCovered)
    );
}

#[test]
fn negative_power_is_kept_or_clamped_as_asked() {
    let log = [(0, -392.0), (S, -392.0), (2 * S, -392.0)];
    let run = || vec![prompt(1, 0, S, 2 * S)];
    let kept = fuse(run(), &mut Log::utc(&log), &options()).unwrap();
    assert_eq!(energy(&kept, 0)[2], Some(-0.784));
    let clamp = FuseOptions { negative_power: NegativePower::ClampToZero, ..options() };
    let clamped = fuse(run(), &mut Log::utc(&log), &clamp).unwrap();
    assert_eq!(energy(&clamped, 0)[2], Some(0.0));
}

fn civil_log(from: i64, to: i64) -> Log {
    Log::new((from..to).map(|s| (Stamp::Civil(s * S), 1.0)).collect())
}

#[test]
fn the_zone_is_inferred_checked_or_asked_for() {
    let start = 1_750_000_000;
    let prompts: Vec<Prompt> = (0..10)
        .map(|i| prompt(i, (start + 60 * i as i64) * S, S, (start + 60 * i as i64 + 50) * S))
        .collect();
    // A log in New York summer time, from just before to just after the run.
    let log =
        |offset: i64, slack: i64| civil_log(start + offset - slack, start + offset + 600 + slack);
    let fit = infer_zone(&prompts, &mut log(-4 * 3600, 30)).unwrap();
    assert_eq!((fit.zone.name().as_str(), fit.covered), ("-04:00", 1.0));
    let fit = infer_zone(&prompts, &mut log(5 * 3600 + 2700, 30)).unwrap();
    assert_eq!(fit.zone.name(), "+05:45");
    // A log of many hours fits at many offsets.
    let message = infer_zone(&prompts, &mut log(0, 5 * 3600)).unwrap_err().to_string();
    assert!(message.contains("give the zone"), "{message}");
    // Another day's log fits at none.
    assert!(infer_zone(&prompts, &mut log(40 * 3600, 30)).is_err());
    // A wrong zone is an error, not empty telemetry.
    let wrong = fuse(prompts, &mut log(-4 * 3600, 30), &options());
    assert!(wrong.unwrap_err().to_string().contains("zone (UTC) is wrong"));
}

#[test]
fn timing_rows_that_cannot_be_are_refused_one_by_one() {
    let text = "start_time,end_time,tokenization_time,prefill_time,total_generation_time\n\
                1000000000,2000000000,0.1,0.2,0.5\n\
                2000000000,1000000000,0.1,0.2,0.5\n\
                1000000000,2000000000,0.1,-0.2,0.5\n\
                1000000000,2000000000,0.1,250,0.5\n\
                1000000000,2000000000,0.1,0.2,500\n\
                x,2000000000,0.1,0.2,0.5\n";
    let (prompts, tally) = read_prompts(&TextTable::read(text.as_bytes()).unwrap()).unwrap();
    assert_eq!((prompts.len(), tally.refused), (1, 5));
    let lines: Vec<u64> = tally.refused_lines.iter().map(|l| l.line).collect();
    assert_eq!(lines, [3, 4, 5, 6, 7]);
}

/// Hydra's Figure 5: HuggingFace on Thor shows every sign, llama.cpp none.
#[test]
fn published_figures_show_the_missing_synchronisation() {
    let t = TextTable::read(&include_bytes!("data/published/fig5_phase_breakdown_thor.csv")[..])
        .unwrap();
    let column = |n| t.require(n).unwrap();
    let (model, backend, metric) = (column("model_code"), column("backend"), column("metric"));
    let (mean, std) = (column("mean"), column("std"));
    let mut checked = 0;
    for b in ["hf", "llamacpp"] {
        for m in ["QW-1.5B", "QW-3B", "QW-7B"] {
            let get = |name: &str| {
                let row = (0..t.rows.len())
                    .find(|&r| {
                        t.rows[r][model] == m
                            && t.rows[r][backend] == b
                            && t.rows[r][metric] == name
                    })
                    .unwrap();
                (t.number(row, mean).unwrap() / 1e3, t.number(row, std).unwrap() / 1e3)
            };
            let (generation, g) = get("mean_token_generation_time");
            let (detokenization, d) = get("mean_token_decode_time");
            let verdict = PhaseTimings {
                tokenization_s: get("tokenization_time").0,
                prefill_s: get("prefill_time").0,
                ttft_s: get("time_to_first_token").0,
                generation_s: generation,
                detokenization_s: detokenization,
                deviations_s: Some([g, d, get("mean_inter_token_latency").1]),
            }
            .assess();
            assert_eq!(
                verdict.evidence.len(),
                if b == "hf" { 3 } else { 0 },
                "{b} {m} {verdict:?}"
            );
            assert_eq!(verdict.unsynchronised(), b == "hf");
            checked += 1;
        }
    }
    assert_eq!(checked, 6);
}

#[test]
fn unsynchronised_records_are_split_at_the_first_token() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/hydra/orin/");
    let read = |path: &str| {
        let info = TextTable::open(std::path::Path::new(&format!("{dir}{path}"))).unwrap();
        read_prompts(&info).unwrap().0
    };
    let hf = read("results_hf_orin/INFO_Qwen2.5-1.5B_torch.bfloat16_.csv");
    let token = hf[0].first_token_ns().unwrap();
    let log: Vec<(i64, f64)> = (0..100).map(|k| (hf[0].start_ns + k * S / 20, 1000.0)).collect();
    let f = fuse(hf.clone(), &mut Log::utc(&log), &options()).unwrap();
    assert_eq!(f.prompts[0].decode.start_ns, token);
    assert!(f.prompts[0].flags.contains(&WindowFlag::UnsynchronisedTimers));
    let as_hydra = FuseOptions { boundary: Boundary::Prefill, ..options() };
    let f = fuse(hf.clone(), &mut Log::utc(&log), &as_hydra).unwrap();
    assert_eq!(f.prompts[0].decode.start_ns, hf[0].prefill_end_ns());
    let cpp = read("results_llamacpp_orin/INFO_Qwen2.5-1.5B_Q4_K_M_.csv");
    assert!(!PhaseTimings::of(&cpp).unwrap().assess().unsynchronised());
    let check = CounterCheck::of(&cpp).unwrap();
    assert_eq!(check.prompts, 5);
    assert!(CounterCheck::of(&hf).is_none());
}

proptest! {
    /// Energy is conserved and no sample counts twice, however windows and samples fall.
    #[test]
    fn phases_add_up(
        gaps in proptest::collection::vec((1i64..3_000_000_000, -500f64..50_000.0), 2..60),
        cuts in proptest::collection::vec((0i64..2_000_000_000, 1i64..2_000_000_000, 1i64..3_000_000_000), 1..8),
    ) {
        let mut t = 0;
        let samples: Vec<(i64, f64)> = gaps.iter().map(|(dt, v)| { t += dt; (t, *v) }).collect();
        let mut at = 0;
        let prompts: Vec<Prompt> = cuts.iter().enumerate().map(|(i, (idle, prefill, decode))| {
            let start = at + idle;
            at = start + prefill + decode;
            prompt(i, start, *prefill, at)
        }).collect();
        let n = prompts.len();
        let options = FuseOptions { max_gap_s: 10.0, ..options() };
        let Ok(f) = fuse(prompts.clone(), &mut Log::utc(&samples), &options) else { return Ok(()) };
        let mut counted = 0;
        for i in 0..n {
            let p = &f.prompts[i];
            counted += p.whole().samples;
            // By hand: the integral over the whole prompt at once.
            let (a, b) = (p.prompt.start_ns, p.prompt.end_ns);
            let mut expected = 0.0;
            for w in samples.windows(2) {
                let ((t0, v0), (t1, v1)) = (w[0], w[1]);
                let (x, y) = (a.max(t0), b.min(t1));
                if x < y {
                    let v = |t: i64| v0 + (v1 - v0) * (t - t0) as f64 / (t1 - t0) as f64;
                    expected += (v(x) + v(y)) / 2.0 * (y - x) as f64 / 1e12;
                }
            }
            let got = p.whole().energy_j(0).map_or(0.0, |e| e.0);
            prop_assert!((got - expected).abs() <= 1e-9 * (1.0 + expected.abs()), "{} {}", got, expected);
        }
        prop_assert_eq!(counted, f.samples_used);
        prop_assert_eq!(f.samples_used + f.samples_outside, samples.len() as u64);
    }
}
