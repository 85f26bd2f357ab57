//! How long it takes to measure 300 simulated models at every operating point.

use criterion::{Criterion, criterion_group, criterion_main};
use enerinfer_datasets::sampler;
use enerinfer_device::{Noise, SimulatedDevice};

fn measure(c: &mut Criterion) {
    let Ok(models) = sampler::sample(300, 1) else { return };
    for platform in ["orin", "h_phone"] {
        let Ok(device) = SimulatedDevice::builtin(platform, None) else { return };
        let noise = Noise { relative_sd: 0.01 };
        c.bench_function(&format!("{platform}: 300 models, all points"), |b| {
            b.iter(|| device.measure(&models, noise, 1));
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = measure
}
criterion_main!(benches);
