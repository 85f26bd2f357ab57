//! Chooses the operating point for a language model and a wanted speed.
//!
//! `cargo run --example choose -- LAYERS HIDDEN HEADS KV_HEADS FFN VOCAB TOKENS_PER_S`

use enerinfer_runtime::model::{ACCEL_KHZ, HAS_POWER, MEM_KHZ, SIMULATED, SOURCE};
use enerinfer_runtime::{Front, MicroTokPerS, Predictor, Shape};

fn main() {
    let mut numbers = std::env::args().skip(1).map(|arg| arg.parse::<u32>());
    let mut next = |default: u32| match numbers.next() {
        None => default,
        Some(Ok(number)) => number,
        Some(Err(e)) => {
            eprintln!("every argument is a whole number: {e}");
            std::process::exit(2);
        }
    };
    // Qwen2-1.5B unless told otherwise, but for its tied embeddings.
    let shape = Shape::new(next(28), next(1536), next(12), next(2), next(8960), next(151_936));
    let qoe = MicroTokPerS::from_tok_per_s(next(5));

    if SIMULATED {
        println!("SIMULATED: trained on a simulated device ({SOURCE}), not on hardware");
    }
    let prediction = Predictor::tables(&shape);
    let front = Front::new(&prediction.tables);
    println!("{:?}", prediction.coverage);
    if let Some(choice) = front.entries().get(front.choose(qoe)) {
        let point = usize::from(choice.point);
        println!(
            "memory {} kHz, accelerator {} kHz: {:.2} tokens/s",
            MEM_KHZ[point / ACCEL_KHZ.len()],
            ACCEL_KHZ[point % ACCEL_KHZ.len()],
            f64::from(choice.throughput.0) / 1e6
        );
        if HAS_POWER {
            println!("predicted power: {:.2} W", f64::from(choice.power.0) / 1e6);
        } else {
            println!("no power is predicted: this is the slowest point that is fast enough");
        }
    }
}
