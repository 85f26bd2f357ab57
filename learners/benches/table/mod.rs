//! A table of the product's size: 300 shapes × 45 operating points, 9 features, 1 % noise.

use enerinfer_artifacts::Feature;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Operating points of each shape.
pub(crate) const POINTS: usize = 9 * 5;

/// Columns and target of `shapes` models at 9 × 5 clocks.
pub(crate) fn table(shapes: usize, seed: u64) -> (Vec<Feature>, Vec<Vec<u32>>, Vec<f64>) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut below = |n: u64| ((u128::from(rng.next_u64()) * u128::from(n)) >> 64) as u32;
    let features: Vec<Feature> = Feature::PAPER_SHAPE.into_iter().chain(Feature::CLOCKS).collect();
    let mut columns = vec![Vec::new(); features.len()];
    let mut y = Vec::with_capacity(shapes * POINTS);
    for _ in 0..shapes {
        let layers = 8 + below(40);
        let head_dim = [64, 80, 96, 128][below(4) as usize];
        let heads = 8 + 2 * below(20);
        let hidden = heads * head_dim;
        let kv_heads = if below(2) == 0 { heads } else { heads / 2 };
        let ffn = (f64::from(hidden) * (2.5 + 0.1 * f64::from(below(30)))) as u32 / 64 * 64;
        let vocab = [32_000, 49_152, 50_304, 128_256, 151_936][below(5) as usize];
        let params = f64::from(layers)
            * f64::from(hidden)
            * (2.0 * f64::from(hidden)
                + 2.0 * f64::from(kv_heads * head_dim)
                + 3.0 * f64::from(ffn))
            + f64::from(vocab) * f64::from(hidden);
        for mem in 1..=9u32 {
            for accel in 1..=5u32 {
                let row = [
                    layers,
                    hidden,
                    heads,
                    kv_heads,
                    ffn,
                    vocab,
                    (params / 1000.0).round() as u32,
                    accel * 200_000,
                    mem * 350_000,
                ];
                for (column, value) in columns.iter_mut().zip(row) {
                    column.push(value);
                }
                let t_mem = params / (4.0e9 * f64::from(mem));
                let t_acc = params / (9.0e9 * f64::from(accel)) + 3e-5 * f64::from(layers);
                let time = (t_mem.powf(1.55) + t_acc.powf(1.55)).powf(1.0 / 1.55);
                let noise = 1.0 + 0.02 * (f64::from(below(1 << 20)) / f64::from(1 << 20) - 0.5);
                y.push(noise / time);
            }
        }
    }
    (features, columns, y)
}
