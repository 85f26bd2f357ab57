//! Patterns of weights: small values, so that activations stay finite whatever is computed.

use rand::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::tensors::Tensor;
use crate::ggml::TensorType;

/// Length of a pattern, in bytes, up to a part of a block.
const PATTERN_BYTES: u64 = 1 << 20;

/// 1.0 as F16.
pub(super) const F16_ONE: u16 = 15 << 10;

/// 2^-`n` as F16, for normal numbers.
const fn f16_exp(n: u16) -> u16 {
    (15 - n) << 10
}

/// Content of a tensor, to be repeated.
pub(super) struct Pattern {
    bytes: Vec<u8>,
}

impl Pattern {
    /// Whole blocks of a type with seeded random weights of magnitude below 0.06.
    fn random(tensor_type: TensorType, seed: u64) -> Pattern {
        let block = tensor_type.block_bytes() as usize;
        let mut bytes = vec![0; PATTERN_BYTES as usize / block * block];
        // Each type has its own stream of the seed.
        let mut rng =
            Xoshiro256PlusPlus::seed_from_u64(seed ^ (u64::from(tensor_type.code()) << 32));
        rng.fill_bytes(&mut bytes);
        for block in bytes.chunks_exact_mut(block) {
            shrink(tensor_type, block);
        }
        Pattern { bytes }
    }

    /// Ones, for norms.
    fn ones(tensor_type: TensorType) -> Pattern {
        let one = match tensor_type {
            TensorType::F16 => F16_ONE.to_le_bytes().to_vec(),
            _ => 1.0f32.to_le_bytes().to_vec(),
        };
        Pattern { bytes: one.repeat(PATTERN_BYTES as usize / one.len()) }
    }

    /// Writes the first `len` bytes of the endless repetition.
    pub(super) fn write(&self, out: &mut impl std::io::Write, len: u64) -> std::io::Result<()> {
        let mut left = len;
        while left > 0 {
            let part = usize::try_from(left).map_or(self.bytes.len(), |n| n.min(self.bytes.len()));
            out.write_all(&self.bytes[..part])?;
            left -= part as u64;
        }
        Ok(())
    }
}

/// Makes a block of random bytes one of small weights: sets its scales, or its exponents.
///
/// Layouts are those of ggml's `ggml-common.h`.
fn shrink(tensor_type: TensorType, block: &mut [u8]) {
    let set = |block: &mut [u8], at: usize, value: u16| {
        block[at..at + 2].copy_from_slice(&value.to_le_bytes());
    };
    let random = u16::from_le_bytes([block[0], block[1]]);
    match tensor_type {
        // Sign and mantissa stay; the exponent is one of 2^-8, 2^-7, 2^-6.
        TensorType::F16 => {
            let exponent = 7 + (random >> 10 & 0x1f) % 3;
            set(block, 0, random & 0x83ff | exponent << 10);
        }
        TensorType::Bf16 => {
            let exponent = 119 + (random >> 7 & 0xff) % 3;
            set(block, 0, random & 0x807f | exponent << 7);
        }
        TensorType::F32 => {
            let bits = u32::from_le_bytes([block[0], block[1], block[2], block[3]]);
            let exponent = 119 + (bits >> 23 & 0xff) % 3;
            block.copy_from_slice(&(bits & 0x807f_ffff | exponent << 23).to_le_bytes());
        }
        // Scale first, then 4, 5 or 8 bits per weight around zero.
        TensorType::Q4_0 => set(block, 0, f16_exp(8)),
        TensorType::Q5_0 => set(block, 0, f16_exp(9)),
        TensorType::Q8_0 => set(block, 0, f16_exp(12)),
        // Scales of scales (to 63) and of minima: the minimum is the mean of scale times weight.
        TensorType::Q4K => {
            set(block, 0, f16_exp(14));
            set(block, 2, f16_exp(12) | 0x380); // 7.5 · 2^-14
        }
        // 192 bytes of weights, 16 signed scales, the scale of scales.
        TensorType::Q6K => {
            for scale in &mut block[192..208] {
                *scale = (i16::from(*scale) % 65 - 32) as i8 as u8;
            }
            set(block, 208, 1 << 9); // 2^-15, subnormal
        }
    }
}

/// Patterns of the types in use, made when first needed.
pub(super) struct Patterns {
    seed: u64,
    made: Vec<((TensorType, bool), Pattern)>,
}

impl Patterns {
    pub(super) fn new(seed: u64) -> Self {
        Patterns { seed, made: Vec::new() }
    }

    /// The pattern for a tensor stored in a type.
    pub(super) fn of(&mut self, tensor: &Tensor, tensor_type: TensorType) -> &Pattern {
        let key = (tensor_type, tensor.is_norm());
        let at = self.made.iter().position(|(made, _)| *made == key).unwrap_or_else(|| {
            let pattern = if tensor.is_norm() {
                Pattern::ones(tensor_type)
            } else {
                Pattern::random(tensor_type, self.seed)
            };
            self.made.push((key, pattern));
            self.made.len() - 1
        });
        &self.made[at].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f16(bits: u16) -> f64 {
        let (exponent, mantissa) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
        let magnitude = match exponent {
            0 => mantissa * 2f64.powi(-24),
            31 => f64::NAN,
            e => (1024.0 + mantissa) * 2f64.powi(e - 25),
        };
        if bits >> 15 == 1 { -magnitude } else { magnitude }
    }

    /// Weights of a block, decoded as ggml's `ggml-quants.c` does.
    fn decode(tensor_type: TensorType, b: &[u8]) -> Vec<f64> {
        let half = |at: usize| f16(u16::from_le_bytes([b[at], b[at + 1]]));
        match tensor_type {
            TensorType::F32 => vec![f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]]))],
            TensorType::F16 => vec![half(0)],
            TensorType::Bf16 => vec![f64::from(f32::from_le_bytes([0, 0, b[0], b[1]]))],
            TensorType::Q8_0 => b[2..].iter().map(|q| half(0) * f64::from(*q as i8)).collect(),
            TensorType::Q4_0 => b[2..]
                .iter()
                .flat_map(|q| [q & 15, q >> 4])
                .map(|q| half(0) * (f64::from(q) - 8.0))
                .collect(),
            TensorType::Q5_0 => {
                let high = u32::from_le_bytes([b[2], b[3], b[4], b[5]]);
                (0..32)
                    .map(|i| {
                        let low = if i < 16 { b[6 + i] & 15 } else { b[6 + i - 16] >> 4 };
                        half(0) * (f64::from(u32::from(low) | (high >> i & 1) << 4) - 16.0)
                    })
                    .collect()
            }
            TensorType::Q4K => {
                let s = &b[4..16];
                let scale = |j: usize| {
                    if j < 4 {
                        (s[j] & 63, s[j + 4] & 63)
                    } else {
                        (s[j + 4] & 15 | (s[j - 4] >> 6) << 4, s[j + 4] >> 4 | (s[j] >> 6) << 4)
                    }
                };
                (0..256)
                    .map(|i| {
                        let (sub, byte) = (i / 32, b[16 + i / 64 * 32 + i % 32]);
                        let q = if sub % 2 == 0 { byte & 15 } else { byte >> 4 };
                        let (sc, m) = scale(sub);
                        half(0) * f64::from(sc) * f64::from(q) - half(2) * f64::from(m)
                    })
                    .collect()
            }
            TensorType::Q6K => (0..256)
                .map(|i| {
                    let (part, at) = (i / 128, i % 128);
                    let low = b[part * 64 + at % 64];
                    let low = if at < 64 { low & 15 } else { low >> 4 };
                    let high = b[128 + part * 32 + at % 32] >> (at / 32 * 2) & 3;
                    let scale = f64::from(b[192 + i / 16] as i8);
                    half(208) * scale * (f64::from(low | high << 4) - 32.0)
                })
                .collect(),
        }
    }

    #[test]
    fn weights_of_every_type_are_small_centred_and_not_all_equal() {
        for tensor_type in TensorType::ALL {
            let pattern = Pattern::random(tensor_type, 7);
            let block = tensor_type.block_bytes() as usize;
            assert_eq!(pattern.bytes.len() % block, 0);
            let weights: Vec<f64> = pattern
                .bytes
                .chunks_exact(block)
                .take(4000)
                .flat_map(|b| decode(tensor_type, b))
                .collect();
            let n = weights.len() as f64;
            let mean = weights.iter().sum::<f64>() / n;
            let spread = (weights.iter().map(|w| w * w).sum::<f64>() / n).sqrt();
            assert!(weights.iter().all(|w| w.abs() < 0.06), "{tensor_type:?}");
            assert!(mean.abs() < 0.003, "{tensor_type:?}: mean {mean}");
            assert!((0.005..0.03).contains(&spread), "{tensor_type:?}: spread {spread}");
        }
    }

    #[test]
    fn ones_are_ones_and_repetition_has_the_asked_length() -> std::io::Result<()> {
        for (tensor_type, width) in [(TensorType::F16, 2), (TensorType::F32, 4)] {
            let ones = Pattern::ones(tensor_type);
            for value in ones.bytes.chunks_exact(width) {
                assert_eq!(decode(tensor_type, value), [1.0]);
            }
        }
        let pattern = Pattern { bytes: vec![1, 2, 3] };
        let mut out = Vec::new();
        pattern.write(&mut out, 8)?;
        assert_eq!(out, [1, 2, 3, 1, 2, 3, 1, 2]);
        Ok(())
    }
}
