//! The stress test of EnerInfer Figure 14: decoding without pause from a shell of 37 °C.

use enerinfer_datasets::survey;
use enerinfer_device::SimulatedDevice;
use enerinfer_device::calibrate::H_PHONE_STRESS_CORE_CELSIUS;
use enerinfer_device::thermal::Temperatures;

use super::scenario::THRESHOLD_CELSIUS;
use super::{HeatSplit, LoopError, Scenario, Stop};

/// The model of the stress test.
pub const MODEL: &str = "Qwen2.5-1.5B";
/// Shell at the start, °C.
const START_CELSIUS: f64 = 37.0;
/// QoE of Figure 14, tokens/s.
pub const QOE_TOK_PER_S: f64 = 10.0;
/// Time in which Ener reaches the threshold in Figure 14, s.
const ENER_S: f64 = 165.0;
/// Sessions end after this: requests back to back for twenty minutes.
pub const LIMIT_S: f64 = 1200.0;

/// The stress test on the high-end phone with a heat split.
///
/// The paper gives neither the split nor the ambient temperature. The one free value is used to
/// hold every split to one published time: the ambient temperature is that at which the
/// energy-aware point for 10 tokens/s reaches 42 °C after 165 s.
///
/// # Errors
/// None for the embedded platform file and survey.
pub fn stress(heat: HeatSplit, qoe_tok_per_s: f64) -> Result<Scenario, LoopError> {
    let device = SimulatedDevice::builtin("h_phone", None)?;
    let shape = &survey::find(MODEL).ok_or(LoopError::UnknownModel { name: MODEL })?.shape;
    let mut scenario = Scenario {
        heat,
        start: Temperatures {
            core_celsius: START_CELSIUS + H_PHONE_STRESS_CORE_CELSIUS,
            shell_celsius: START_CELSIUS,
        },
        stop: Stop { after_s: LIMIT_S, at_shell_celsius: Some(THRESHOLD_CELSIUS) },
        ..Scenario::new(&device, shape, qoe_tok_per_s)
    };
    let ener = scenario
        .truth
        .iter()
        .filter(|decode| decode.throughput_tok_per_s > QOE_TOK_PER_S)
        .max_by(|a, b| a.efficiency_tok_per_j().total_cmp(&b.efficiency_tok_per_j()))
        .copied();
    let heat_w = ener.map_or(0.0, |decode| heat.heat_w(&decode));
    let (mut cold, mut warm) = (0.0, THRESHOLD_CELSIUS);
    for _ in 0..40 {
        let ambient = (cold + warm) / 2.0;
        let seconds = scenario.thermal.seconds_to_shell(
            scenario.start,
            heat_w,
            ambient,
            THRESHOLD_CELSIUS,
            LIMIT_S,
        );
        if seconds.is_none_or(|s| s > ENER_S) {
            cold = ambient;
        } else {
            warm = ambient;
        }
    }
    scenario.ambient_celsius = (cold + warm) / 2.0;
    Ok(scenario)
}
