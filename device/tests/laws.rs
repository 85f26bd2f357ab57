//! What every simulated device obeys, whatever the shape.

use enerinfer_datasets::{LlmShape, Model, OperatingPoint, ShapeSpec, Source};
use enerinfer_device::{Noise, SimulatedDevice, names};
use proptest::prelude::*;

/// Shapes of roughly 0.05 to 8 B parameters, mixtures of experts among them.
fn shapes() -> impl Strategy<Value = LlmShape> {
    (2..48u32, 1..=8u32, 1..=8u32, prop::sample::select(vec![64u32, 80, 96, 128, 256]))
        .prop_flat_map(|(layers, kv_heads, group, head_dim)| {
            let hidden = kv_heads * group * head_dim;
            (
                Just((layers, kv_heads, group, head_dim)),
                hidden..=hidden * 8,
                32_000..=256_000u32,
                any::<bool>(),
                any::<bool>(),
                prop::sample::select(vec![(1u32, 1u32), (1, 1), (1, 1), (8, 2), (16, 4)]),
            )
        })
        .prop_filter_map(
            "size",
            |((layers, kv_heads, group, head_dim), ffn, vocab, gated, tied, moe)| {
                let shape = LlmShape::new(ShapeSpec {
                    layers,
                    hidden: kv_heads * group * head_dim,
                    heads: kv_heads * group,
                    kv_heads,
                    ffn,
                    vocab,
                    gated: Some(gated),
                    tied: Some(tied),
                    experts: Some(moe.0),
                    active_experts: Some(moe.1),
                    ..ShapeSpec::default()
                })
                .ok()?;
                (50_000_000..8_000_000_000).contains(&shape.dims().read_params()).then_some(shape)
            },
        )
}

fn devices() -> Vec<SimulatedDevice> {
    names()
        .iter()
        .flat_map(|name| {
            let formats = SimulatedDevice::formats(name).expect("built in");
            formats.into_iter().map(|f| SimulatedDevice::builtin(name, Some(f)).expect("has it"))
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn decode_is_positive_and_rises_with_each_clock(shape in shapes()) {
        for device in devices() {
            let clocks = &device.platform().clocks;
            for point in clocks.points() {
                let decode = device.decode(&shape, point);
                let name = &device.platform().name;
                for value in [decode.throughput_tok_per_s, decode.power_w, decode.accel_power_w] {
                    prop_assert!(value.is_finite() && value > 0.0, "{name} {decode:?}");
                }
                prop_assert!(decode.accel_power_w < decode.power_w, "{name} {decode:?}");
                let faster_than = |slower: OperatingPoint| {
                    decode.throughput_tok_per_s
                        >= device.decode(&shape, slower).throughput_tok_per_s * (1.0 - 1e-12)
                };
                if point.mem > 0 {
                    prop_assert!(faster_than(OperatingPoint { mem: point.mem - 1, ..point }), "{name}");
                }
                if point.accel > 0 {
                    prop_assert!(faster_than(OperatingPoint { accel: point.accel - 1, ..point }), "{name}");
                }
            }
        }
    }

    #[test]
    fn operators_add_up_to_the_token(shape in shapes()) {
        for device in devices() {
            let point = device.platform().clocks.highest();
            let sum: f64 = device.operator_times(&shape, point).iter().map(|(_, s)| s).sum();
            let token_s = 1.0 / device.decode(&shape, point).throughput_tok_per_s;
            prop_assert!((sum / token_s - 1.0).abs() < 1e-9, "{} against {}", sum, token_s);
        }
    }

    /// One more layer is never free.
    #[test]
    fn more_layers_are_slower(shape in shapes()) {
        let d = shape.dims();
        let deeper = LlmShape::new(ShapeSpec {
            layers: d.layers + 1, hidden: d.hidden, heads: d.heads, kv_heads: d.kv_heads,
            head_dim: Some(d.head_dim), ffn: d.ffn, vocab: d.vocab, gated: Some(d.gated),
            tied: Some(d.tied), experts: Some(d.experts), active_experts: Some(d.active_experts),
            total_params: None,
        }).unwrap();
        for device in devices() {
            let point = device.platform().clocks.highest();
            prop_assert!(
                device.decode(&deeper, point).throughput_tok_per_s
                    < device.decode(&shape, point).throughput_tok_per_s
            );
        }
    }

    /// Noise belongs to the cell: neither later models nor their order change it.
    #[test]
    fn noise_does_not_depend_on_the_rest_of_the_table(a in shapes(), b in shapes(), seed: u64) {
        let device = SimulatedDevice::builtin("h_phone", None).unwrap();
        let model = |name: &str, shape| Model { name: name.to_owned(), shape };
        let noise = Noise { relative_sd: 0.01 };
        let both = device.measure(&[model("a", a), model("b", b)], noise, seed);
        let alone = device.measure(&[model("a", a)], noise, seed);
        prop_assert_eq!(&both.rows[..alone.rows.len()], &alone.rows[..]);
    }
}

#[test]
fn a_measured_table_passes_the_checks_of_measurement_tables() {
    let models: Vec<Model> = enerinfer_datasets::sampler::sample(20, 3).unwrap();
    for device in devices() {
        for relative_sd in [0.0, 0.01, 0.15] {
            let table = device.measure(&models, Noise { relative_sd }, 5);
            let checked = enerinfer_datasets::MeasurementTable::new(
                table.platform.clone(),
                table.source.clone(),
                table.models.clone(),
                table.rows.clone(),
            )
            .unwrap();
            assert_eq!(checked, table);
            assert_eq!(table.source, Source::Simulated(device.platform().name.clone()));
        }
        let exact = device.measure(&models, Noise::default(), 5);
        assert_eq!(exact, device.measure(&models, Noise::default(), 6), "noiseless has no seed");
        let row = &exact.rows[device.platform().clocks.len() + 1];
        let decode = device.decode(&models[1].shape, row.point);
        assert_eq!(row.throughput_tok_per_s, decode.throughput_tok_per_s);
        assert_eq!(row.power_w, Some(decode.power_w));
    }
}

#[test]
fn requests_round_up_to_levels() {
    let orin = SimulatedDevice::builtin("orin", None).unwrap();
    // As probed on a Jetson: 408 → 665.6, 1866 → 2133, 2400 → 3199 MHz.
    for (request_khz, mem) in
        [(1, 0), (204_000, 0), (408_000, 1), (1_866_000, 2), (2_400_000, 3), (9_000_000, 3)]
    {
        assert_eq!(orin.achieved(306_000, request_khz), OperatingPoint { mem, accel: 0 });
    }
    for point in orin.platform().clocks.points() {
        let (accel_khz, mem_khz) = orin.platform().clocks.clocks_khz(point);
        assert_eq!(orin.achieved(accel_khz, mem_khz), point);
    }
}

#[test]
fn large_models_do_not_fit_small_devices() {
    let big = enerinfer_datasets::survey::find("Llama-3.1-8B").unwrap().shape;
    let fits = |name: &str, format: &str| {
        let format = enerinfer_datasets::WeightFormat::parse(format);
        SimulatedDevice::builtin(name, format).unwrap().fits(&big)
    };
    assert!(fits("orin", "f16"));
    assert!(!fits("laptop", "f16"));
    assert!(!fits("board", "q8_0"));
    assert!(fits("board_gpu", "q4_0"));
}
