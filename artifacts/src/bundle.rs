//! The artifact bundle (`bundle.enerinfer`): everything that the compiler needs, with integrity.
//!
//! Layout: magic `ENERINFR` (8 bytes), format version (u32 LE), payload length (u64 LE), BLAKE3
//! of the payload (32 bytes), payload (postcard). Header and digest are checked before anything
//! is decoded, and lengths are capped, so a hostile file costs at most its own size.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{ClockTables, Error, Predictor, ShapeDims, Target};

const MAGIC: &[u8; 8] = b"ENERINFR";
const HEADER_LEN: usize = 8 + 4 + 8 + 32;
/// Version of the payload's schema.
pub const FORMAT_VERSION: u32 = 1;
/// Largest payload that is read: 1 GiB.
pub const MAX_PAYLOAD: u64 = 1 << 30;

/// Which device, engine and weight format the predictors are for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlatformId {
    /// Platform name, e.g. `orin`.
    pub name: String,
    /// Inference engine, e.g. `llama.cpp`.
    pub engine: String,
    /// Weight format, e.g. `q4_k_m`.
    pub weight_format: String,
    /// Which power the power predictors mean, e.g. `accel+mem`; domains are never compared.
    pub power_domain: String,
    /// `simulated:<device>` or `measured:<how>`.
    pub source: String,
}

/// Coefficients of the thermal model `T(t)` (Algorithm 1's `f`), fitted off-device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThermalModel {
    /// Number of one-second temperatures in the window.
    pub window: u32,
    /// Intercept, °C.
    pub intercept_c: f64,
    /// Weight of each temperature of the window, oldest first.
    pub history: Vec<f64>,
    /// °C per W of accelerator power.
    pub power_c_per_w: f64,
    /// °C per second ahead.
    pub time_c_per_s: f64,
    /// °C per (W·s): interaction of time and power; 0 for the paper's additive form.
    pub time_power_c_per_ws: f64,
    /// Interaction of time with each temperature of the window; empty for the additive form.
    pub time_history: Vec<f64>,
}

impl ThermalModel {
    /// `f(T, P, t)` in °C: the temperature `ahead_s` seconds after the last of `history_celsius`
    /// (oldest first) under a power. What the device computes in fixed point.
    pub fn predict_celsius(&self, history_celsius: &[f64], power_w: f64, ahead_s: f64) -> f64 {
        let weigh = |weights: &[f64]| -> f64 {
            weights.iter().zip(history_celsius).map(|(w, t)| w * t).sum()
        };
        let rate =
            self.time_c_per_s + self.time_power_c_per_ws * power_w + weigh(&self.time_history);
        self.intercept_c + weigh(&self.history) + self.power_c_per_w * power_w + ahead_s * rate
    }
}

/// Digests and settings that identify how a bundle came to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// BLAKE3 (hex) of the measurement table.
    pub data_digest: String,
    /// Seed of the run.
    pub seed: u64,
    /// Command that regenerates the bundle, with relative paths.
    pub command: String,
}

/// Held-out accuracy of a target, for the README of the generated crate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Accuracy {
    /// What was scored: a target's name or `throughput`.
    pub what: String,
    /// Mean absolute percentage error on held-out models.
    pub mape_percent: f64,
}

/// A trained platform: clocks, predictors, and what identifies them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bundle {
    /// What the predictors are for.
    pub platform: PlatformId,
    /// Clock tables.
    pub clocks: ClockTables,
    /// Predictors, in the order of [`Target::COMPILED`], absent ones left out.
    pub predictors: Vec<Predictor>,
    /// Thermal model, if one was fitted or imported.
    pub thermal: Option<ThermalModel>,
    /// Held-out accuracy.
    pub accuracy: Vec<Accuracy>,
    /// Held-out shapes that become the generated crate's test vectors.
    pub test_shapes: Vec<ShapeDims>,
    /// Where it came from.
    pub provenance: Provenance,
}

impl Bundle {
    /// The predictor of a target.
    pub fn predictor(&self, target: Target) -> Option<&Predictor> {
        self.predictors.iter().find(|p| p.target == target)
    }

    /// Checks every rule that decoding alone cannot.
    pub fn validate(&self) -> Result<(), Error> {
        self.clocks.validate()?;
        for target in [Target::Peak, Target::Scale] {
            if self.predictor(target).is_none() {
                return Err(Error::invalid(format!(
                    "the bundle has no `{}` predictor",
                    target.name()
                )));
            }
        }
        for (i, p) in self.predictors.iter().enumerate() {
            p.validate()?;
            if self.predictors[..i].iter().any(|q| q.target == p.target) {
                return Err(Error::invalid(format!(
                    "the bundle has two `{}` predictors",
                    p.target.name()
                )));
            }
        }
        Ok(())
    }

    /// Encodes with header and digest. The same bundle always gives the same bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let payload = postcard::to_stdvec(self)
            .map_err(|e| Error::invalid(format!("cannot encode the bundle: {e}")))?;
        let mut out = Vec::with_capacity(HEADER_LEN + payload.len());
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        out.extend_from_slice(&(payload.len() as u64).to_le_bytes());
        out.extend_from_slice(blake3::hash(&payload).as_bytes());
        out.extend_from_slice(&payload);
        Ok(out)
    }

    /// Decodes and validates. Names what does not hold.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let header = bytes.get(..HEADER_LEN).ok_or_else(|| {
            Error::invalid(format!(
                "not a bundle: {} bytes, the header alone has {HEADER_LEN}",
                bytes.len()
            ))
        })?;
        if &header[..8] != MAGIC {
            return Err(Error::invalid("not a bundle: the magic bytes differ".to_owned()));
        }
        let version = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
        if version != FORMAT_VERSION {
            return Err(Error::invalid(format!(
                "bundle format {version}; this tool reads format {FORMAT_VERSION}: \
                 train again or use the tool version that wrote it"
            )));
        }
        let mut length = [0u8; 8];
        length.copy_from_slice(&header[12..20]);
        let length = u64::from_le_bytes(length);
        let payload = &bytes[HEADER_LEN..];
        if length > MAX_PAYLOAD || length != payload.len() as u64 {
            return Err(Error::invalid(format!(
                "the header announces {length} bytes of payload, the file holds {}: \
                 it was cut or appended to",
                payload.len()
            )));
        }
        if blake3::hash(payload).as_bytes() != &header[20..52] {
            return Err(Error::invalid(
                "the payload's digest does not match the header: the file was changed".to_owned(),
            ));
        }
        let bundle: Bundle = postcard::from_bytes(payload)
            .map_err(|e| Error::invalid(format!("cannot decode the payload: {e}")))?;
        bundle.validate()?;
        Ok(bundle)
    }

    /// Reads and validates a bundle file.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let size = std::fs::metadata(path).map_err(|e| Error::io(path, e))?.len();
        if size > MAX_PAYLOAD + HEADER_LEN as u64 {
            return Err(Error::invalid(format!(
                "{}: {size} bytes is more than a bundle can have",
                path.display()
            )));
        }
        let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
        Self::from_bytes(&bytes).map_err(|e| Error::invalid(format!("{}: {e}", path.display())))
    }

    /// Digest of the encoded payload, hex: the generated crate's `MODEL_DIGEST`, unless a flash budget
    /// of `compile-forest` pruned it.
    pub fn digest(&self) -> Result<String, Error> {
        let bytes = self.to_bytes()?;
        Ok(blake3::hash(&bytes[HEADER_LEN..]).to_hex().to_string())
    }
}
