//! A record like one of a real run, made up from formulas: for tests only.

use std::collections::BTreeMap;

use enerinfer_artifacts::compiled_code::{Architecture, CODE_VERSION, CodeCost, CompiledCode};
use enerinfer_artifacts::record::{
    BudgetCut, ClosedLoopRun, Combined, CutOption, DataSummary, DesignScore, Details, FamilyScore,
    FeatureSetScore, FrontPoint, HeldoutShape, HorizonError, Importance, ModelFront, ModelTau,
    PredictorSize, Ranking, Record, Regret, SCHEMA_VERSION, ScatterPoint, SizePoint, SizeRecord,
    TargetRecord, ThermalAccuracy, ThermalPoint, Trial,
};
use enerinfer_artifacts::{ClockTables, ForestStats, PlatformId, ShapeDims, Target};
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::stats::{Pair, mape_percent, mean};

/// How large a record is.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) models: u32,
    pub(crate) trials: u32,
}

/// Committed as `tests/data/orin.json`.
pub(crate) const SMALL: Sizes = Sizes { models: 6, trials: 30 };
/// The whole job's size.
pub(crate) const FULL: Sizes = Sizes { models: 60, trials: 1000 };

/// A simulated record.
pub(crate) fn record(sizes: Sizes, seed: u64) -> Record {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut noise = move |relative: f64| 1.0 + relative * (rng.random::<f64>() * 2.0 - 1.0);
    let clocks = ClockTables {
        accel_khz: vec![
            306_000, 408_000, 510_000, 612_000, 714_000, 816_000, 918_000, 1_020_000, 1_122_000,
            1_224_000, 1_300_500,
        ],
        mem_khz: vec![204_000, 665_600, 2_133_000, 3_199_000],
    };
    let top = clocks.highest();
    let (top_accel, top_mem) = clocks.clocks_khz(top);
    let mut scatter = Vec::new();
    let mut fronts = Vec::new();
    let mut per_model = Vec::new();
    for m in 0..sizes.models {
        let peak = 80.0 * (0.02f64).powf(f64::from(m) / f64::from(sizes.models));
        let bias = noise(0.04);
        let mut points = Vec::new();
        for point in clocks.points() {
            let (accel, mem) = clocks.clocks_khz(point);
            let (a, b) =
                (f64::from(accel) / f64::from(top_accel), f64::from(mem) / f64::from(top_mem));
            let speed = peak / (0.3 / a.powi(3) + 0.7 / b.powi(3)).cbrt();
            let power = 6.0 + 14.0 * a * a + 9.0 * b;
            let row = ScatterPoint {
                model: m,
                point,
                measured_tok_per_s: round(speed * noise(0.01)),
                predicted_tok_per_s: round(speed * bias * noise(0.02)),
                measured_w: Some(round(power * noise(0.01))),
                predicted_w: Some(round(power * noise(0.02))),
            };
            let [measured, predicted] = [
                (row.measured_tok_per_s, row.measured_w),
                (row.predicted_tok_per_s, row.predicted_w),
            ]
            .map(|(speed, power)| round(speed / power.unwrap_or(1.0)));
            points.push(FrontPoint {
                point,
                measured_tok_per_s: row.measured_tok_per_s,
                measured_tok_per_j: measured,
                predicted_tok_per_s: row.predicted_tok_per_s,
                predicted_tok_per_j: predicted,
                on_measured_front: false,
                on_predicted_front: false,
            });
            scatter.push(row);
        }
        mark_fronts(&mut points);
        let model = format!("synthetic-{m:03}");
        if m < 2 {
            fronts.push(ModelFront { model: model.clone(), points });
        }
        per_model.push(ModelTau {
            model,
            kendall_tau_b: Some(round((0.97 * noise(0.025)).min(1.0))),
            reason: None,
            kendall_tau_b_noiseless: Some(round((0.985 * noise(0.01)).min(1.0))),
        });
    }
    let mut taus: Vec<f64> = per_model.iter().filter_map(|m| m.kendall_tau_b).collect();
    taus.sort_by(f64::total_cmp);
    let targets = [
        (Target::Peak, 4.1, Some("bytes_per_token")),
        (Target::Scale, 1.2, None),
        (Target::Power, 1.6, None),
        (Target::AccelPower, 1.9, None),
    ]
    .map(|(target, mape, normaliser)| {
        let trials: Vec<Trial> = (0..sizes.trials).map(|i| trial(mape, i, &mut noise)).collect();
        let best = trials.iter().min_by(|a, b| {
            a.cv_mape_percent.unwrap_or(1e9).total_cmp(&b.cv_mape_percent.unwrap_or(1e9))
        });
        TargetRecord {
            target,
            family: "random_forest".to_owned(),
            features: ["total_params", "layers", "hidden", "accel_mhz", "mem_mhz"]
                .map(str::to_owned)
                .to_vec(),
            normaliser: normaliser.map(str::to_owned),
            params: best.map(|t| t.params.clone()).unwrap_or_default(),
            cv_mape_percent: best.and_then(|t| t.cv_mape_percent).unwrap_or(mape),
            cv_se_percent: round(mape * 0.05),
            heldout_mape_percent: round(mape * noise(0.2)),
            raw_target_mape_percent: normaliser.map(|_| round(mape * 2.4)),
            forest: Some(stats(target)),
            trials,
        }
    });
    let predictors: Vec<PredictorSize> = Target::COMPILED
        .iter()
        .map(|&target| PredictorSize {
            target,
            forest: stats(target),
            est_bytes: u64::from(stats(target).leaves) * 14,
            quantisation_error: 5e-7,
        })
        .collect();
    Record {
        schema_version: SCHEMA_VERSION,
        tool_version: "0.1.0".to_owned(),
        model_digest: Some(bundle_digest()),
        platform: PlatformId {
            name: "orin".to_owned(),
            engine: "llama.cpp".to_owned(),
            weight_format: "q4_k_m".to_owned(),
            power_domain: "accel+mem".to_owned(),
            source: "simulated:fixture".to_owned(),
        },
        data: DataSummary {
            digest: enerinfer_artifacts::digest(b"fixture"),
            rows: sizes.models * 5 * clocks.len() as u32,
            models: sizes.models * 5,
            train_models: sizes.models * 4,
            test_models: sizes.models,
            folds: 5,
            models_per_fold: vec![48; 5],
            simulated: true,
            noise_percent: Some(1.0),
        },
        seed,
        trials: sizes.trials,
        targets: targets.to_vec(),
        combined: Combined {
            throughput_mape_percent: mape(&scatter, Pair::throughput).unwrap_or(0.0),
            power_mape_percent: mape(&scatter, Pair::power),
            efficiency_mape_percent: mape(&scatter, Pair::efficiency),
            monolithic_mape_percent: Some(6.3),
        },
        ranking: Ranking {
            mean_tau_b: mean(taus.iter().copied()).map(round),
            median_tau_b: taus.get(taus.len() / 2).copied(),
            p10_tau_b: taus.get(taus.len() / 10).copied(),
            mean_tau_b_noiseless: mean(per_model.iter().filter_map(|m| m.kendall_tau_b_noiseless))
                .map(round),
            per_model,
        },
        regret: (1..=8)
            .map(|i| Regret {
                qoe_tok_per_s: f64::from(2 * i),
                mean_percent: Some(round(0.5 * noise(0.6))),
                worst_percent: Some(round(2.5 * noise(0.6))),
                reachable_models: sizes.models - i.min(sizes.models - 1) / 2,
                violations: i / 4,
                mean_percent_noiseless: Some(0.2 + 0.03 * f64::from(i)),
            })
            .collect(),
        scatter,
        fronts,
        size: SizeRecord {
            budget_bytes: 128 * 1024,
            est_bytes: predictors.iter().map(|p| p.est_bytes).sum(),
            predictors,
            cuts: [Target::Peak, Target::Scale].into_iter().map(cut).collect(),
        },
        notes: vec!["Made up for tests of the report; nothing was trained.".to_owned()],
        details: details(sizes),
        clocks,
    }
}

fn details(sizes: Sizes) -> Details {
    let targets = [Target::Peak, Target::Scale];
    let shape = |m: u32| HeldoutShape {
        model: format!("synthetic-{m:03}"),
        dims: ShapeDims {
            layers: 16 + m % 17,
            hidden: 1024 + 64 * m,
            heads: 16,
            kv_heads: 8,
            head_dim: 64 + 4 * m,
            ffn: 4096 + 128 * m,
            vocab: 32_000,
            gated: true,
            tied: m.is_multiple_of(2),
            experts: 1,
            active_experts: 1,
            total_params: (150e6 * 1.06f64.powi(m as i32)) as u64,
        },
    };
    let family = |(target, (family, mape)): (Target, (&str, f64))| FamilyScore {
        target,
        family: family.to_owned(),
        trials: sizes.trials,
        successive_halving: family == "svr",
        cv_mape_percent: Some(mape),
        heldout_mape_percent: Some(mape * 1.25),
        est_bytes: (family == "random_forest").then_some(20_480),
    };
    let families = [("random_forest", 4.0), ("poly", 6.5), ("svr", 3.5), ("mlp", 5.0)];
    let inputs = [("total_params", 0.75), ("hidden", 0.125), ("layers", 0.125), ("heads", 0.0)];
    let importance = |(target, (feature, share)): (Target, (&str, f64))| Importance {
        target,
        feature: feature.to_owned(),
        share,
    };
    let run = |(i, policy): (usize, &str)| ClosedLoopRun {
        model: "synthetic-000".to_owned(),
        policy: policy.to_owned(),
        qoe_tok_per_s: Some(10.0),
        duration_s: 600.0,
        tokens: 7500 - 250 * i as u64,
        energy_j: 6000.0 - 1000.0 * i as f64,
        qoe_met_percent: Some(99.5),
        max_shell_c: Some(44.5 - i as f64),
    };
    let pairs = |target| families.map(|f| (target, f));
    let shares = |target| inputs.map(|f| (target, f));
    let design = |(family, mape): (&str, f64)| DesignScore {
        family: family.to_owned(),
        disaggregated_mape_percent: Some(mape),
        monolithic_mape_percent: Some(mape * 1.5),
        published_mape_percent: None,
    };
    let feature_set = |target| FeatureSetScore {
        target,
        family: "random_forest".to_owned(),
        paper_cv_mape_percent: Some(5.25),
        derived_cv_mape_percent: Some(3.5),
    };
    Details {
        designs: families.into_iter().map(design).collect(),
        feature_sets: targets.into_iter().map(feature_set).collect(),
        size_points: targets.into_iter().flat_map(size_points).collect(),
        heldout_shapes: (0..sizes.models).map(shape).collect(),
        families: targets.into_iter().flat_map(pairs).map(family).collect(),
        importances: targets.into_iter().flat_map(shares).map(importance).collect(),
        thermal: Some(ThermalAccuracy {
            segments: 3000,
            mae_c: 0.125,
            r2: Some(0.9875),
            by_horizon: (1..=21)
                .map(|s| HorizonError {
                    ahead_s: f64::from(s),
                    mae_c: 0.0125 * f64::from(s),
                    additive_mae_c: Some(0.025 * f64::from(s)),
                })
                .collect(),
            source: "simulated:orin".to_owned(),
            held_out: "models and ambient temperatures".to_owned(),
            training_segments: 30_000,
            within_half_c_percent: Some(98.5),
            additive_mae_c: Some(0.25),
            additive_r2: Some(0.95),
            scatter: [1.0, 6.0, 11.0, 16.0, 21.0]
                .into_iter()
                .map(|ahead_s| ThermalPoint {
                    ahead_s,
                    true_c: 38.0 + 0.25 * ahead_s,
                    predicted_c: 38.125 + 0.25 * ahead_s,
                })
                .collect(),
        }),
        closed_loop: ["default", "ener", "enerinfer", "optimum"]
            .into_iter()
            .enumerate()
            .map(run)
            .collect(),
        compiled_code: Some(compiled_code()),
    }
}

fn bundle_digest() -> String {
    enerinfer_artifacts::digest(b"fixture bundle")
}

/// As measured on a machine without an emulator of aarch64.
fn compiled_code() -> CompiledCode {
    let cost = |architecture: Architecture| {
        let emulated = architecture != Architecture::Aarch64;
        let bytes = 64_000 + 8_000 * architecture as u64;
        CodeCost {
            architecture,
            rustc: Some("1.95.0".to_owned()),
            program_text_bytes: Some(bytes + 20_000),
            program_rodata_bytes: Some(16_000),
            predictors_text_bytes: Some(bytes),
            predictors_rodata_bytes: Some(12_000),
            table_stack_bytes: emulated.then_some(4640),
            choice_stack_bytes: emulated.then_some(5168),
            table_instructions: emulated.then_some(90_000),
        }
    };
    CompiledCode {
        schema_version: CODE_VERSION,
        model_digest: bundle_digest(),
        options: String::new(),
        opt_level: "z".to_owned(),
        leaves: 8000,
        lookup_comparisons: 150,
        tree_comparisons: 2400,
        costs: Architecture::ALL.map(cost).to_vec(),
    }
}

fn mape(scatter: &[ScatterPoint], pair: fn(&ScatterPoint) -> Option<Pair>) -> Option<f64> {
    mape_percent(scatter.iter().filter_map(pair)).map(round)
}

fn stats(target: Target) -> ForestStats {
    let leaves = match target {
        Target::Peak => 1200,
        Target::Scale => 2600,
        Target::Power => 1900,
        _ => 1500,
    };
    ForestStats { trees: 24, nodes: 2 * leaves - 24, leaves, depth: 9 }
}

/// Pruning cost less than the smaller trials.
fn cut(target: Target) -> BudgetCut {
    let option = |leaves, mape| CutOption {
        leaves,
        compiled_bytes: 12 * u64::from(leaves),
        cv_mape_percent: mape,
    };
    BudgetCut {
        target,
        preferred: option(900, 3.25),
        pruned: Some(option(400, 3.5)),
        smaller: Some(option(390, 4.25)),
        pruned_is_compiled: true,
    }
}

/// Boosted trees beat the forests but for the smallest; the third is chosen.
fn size_points(target: Target) -> Vec<SizePoint> {
    let point = |(trial, (family, bytes, mape)): (u32, (&str, u64, f64))| SizePoint {
        target,
        family: family.to_owned(),
        trial,
        params: BTreeMap::from([("trees".to_owned(), format!("{}", 10 * trial))]),
        cv_mape_percent: mape,
        est_bytes: bytes + 100,
        compiled_bytes: bytes,
        on_front: family == "boosted_trees" || trial == 1,
        chosen: trial == 5,
    };
    let points = [
        ("random_forest", 900, 9.5),
        ("random_forest", 8000, 5.5),
        ("random_forest", 30_000, 4.0),
        ("boosted_trees", 1800, 6.0),
        ("boosted_trees", 6000, 3.5),
        ("boosted_trees", 40_000, 3.25),
    ];
    (1..).zip(points).map(point).collect()
}

fn trial(mape: f64, index: u32, noise: &mut impl FnMut(f64) -> f64) -> Trial {
    let trees = (60.0 * noise(0.9)).round().max(4.0);
    let depth = (9.0 * noise(0.6)).round();
    let score = mape * (1.0 + 3.0 / trees) * (1.0 + 8.0 * (-0.5 * depth).exp()) * noise(0.05);
    // One fit in twenty diverges, as real ones of other families do.
    let diverged = index % 20 == 19;
    Trial {
        params: BTreeMap::from([
            ("depth".to_owned(), format!("{depth}")),
            ("min_leaf".to_owned(), format!("{}", 1 + index % 5)),
            ("trees".to_owned(), format!("{trees}")),
        ]),
        fold_mape_percent: (0..5)
            .map(|_| round(score * noise(0.1)))
            .map(|v| (!diverged).then_some(v))
            .collect(),
        cv_mape_percent: (!diverged).then_some(round(score)),
        est_bytes: Some((trees * depth.exp2() * 6.0) as u64),
    }
}

fn mark_fronts(points: &mut [FrontPoint]) {
    let all = points.to_vec();
    for p in points {
        p.on_measured_front = !all.iter().any(|q| {
            q.measured_tok_per_s > p.measured_tok_per_s
                && q.measured_tok_per_j > p.measured_tok_per_j
        });
        p.on_predicted_front = !all.iter().any(|q| {
            q.predicted_tok_per_s > p.predicted_tok_per_s
                && q.predicted_tok_per_j > p.predicted_tok_per_j
        });
    }
}

/// Four decimals keep the committed file readable.
fn round(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}
