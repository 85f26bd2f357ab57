//! `SimulatedDevice`: a platform with the parameters that simulate it.

use std::path::Path;

use enerinfer_datasets::{
    Gemv, LlmShape, MeasurementTable, Model, OperatingPoint, Platform, Row, Source, WeightFormat,
    Workload,
};

use crate::model::{self, Decode};
use crate::parameters::{FormatParameters, Parameters, PlatformFile};
use crate::thermal::ThermalModel;
use crate::{DeviceError, Noise, builtin, parameters};

/// Tokens behind one simulated measurement.
const SAMPLES: u32 = 256;
/// Context that must fit beside the weights, in tokens.
const CONTEXT_TOKENS: u64 = 4096;

/// A simulated device for one weight format.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedDevice {
    pub(crate) platform: Platform,
    pub(crate) parameters: Parameters,
    pub(crate) of_format: FormatParameters,
    thermal: ThermalModel,
}

impl SimulatedDevice {
    /// A built-in device, in its default weight format unless one is given.
    ///
    /// # Errors
    /// The name is unknown (the error suggests the nearest) or the device has no such format.
    pub fn builtin(name: &str, format: Option<WeightFormat>) -> Result<Self, DeviceError> {
        Self::from_toml(builtin::text(name)?, &format!("platforms/{name}.toml"), format)
    }

    /// A device from the text of a platform file; errors name `display_name` and the line.
    ///
    /// # Errors
    /// The first fault of syntax or rule, or a format that the file does not have.
    pub fn from_toml(
        text: &str,
        display_name: &str,
        format: Option<WeightFormat>,
    ) -> Result<Self, DeviceError> {
        let file = parameters::parse(text, display_name)?;
        let format = format.unwrap_or(file.default_format);
        Self::of_file(&file, format).ok_or_else(|| DeviceError::UnknownFormat {
            platform: file.name.clone(),
            format: format.name().to_owned(),
            known: file.formats.keys().map(|f| f.name().to_owned()).collect(),
        })
    }

    /// A device from a user's platform file (documented in `platforms/README.md`).
    ///
    /// # Errors
    /// The file cannot be read, it has the name of a built-in device without being that device, or
    /// as [`SimulatedDevice::from_toml`].
    pub fn from_file(path: &Path, format: Option<WeightFormat>) -> Result<Self, DeviceError> {
        let text = std::fs::read_to_string(path)
            .map_err(|reason| DeviceError::Io { path: path.to_owned(), reason })?;
        let display_name = path.display().to_string();
        parameters::check_own_name(&text, &display_name)?;
        Self::from_toml(&text, &display_name, format)
    }

    /// A device of a checked file; none if the file does not have the format.
    pub(crate) fn of_file(file: &PlatformFile, format: WeightFormat) -> Option<Self> {
        let of_format = file.formats.get(&format)?.clone();
        let platform = Platform {
            name: file.name.clone(),
            description: file.description.clone(),
            engine: file.engine.clone(),
            format,
            power_domain: file.power_domain.clone(),
            clocks: file.clocks.clone(),
        };
        let (parameters, thermal) = (file.parameters.clone(), file.thermal);
        Some(SimulatedDevice { platform, parameters, of_format, thermal })
    }

    /// The weight formats of a built-in device, its default first.
    ///
    /// # Errors
    /// The name is unknown.
    pub fn formats(name: &str) -> Result<Vec<WeightFormat>, DeviceError> {
        let file = parameters::parse(builtin::text(name)?, name)?;
        let rest = file.formats.into_keys().filter(|f| *f != file.default_format);
        Ok(std::iter::once(file.default_format).chain(rest).collect())
    }

    /// Clocks, engine and weight format.
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// The operating point that a request for two clocks achieves: drivers round each up to a
    /// level, and to the highest level above it (probed on Jetsons, where a request for 408 MHz
    /// of memory clock gives 665.6).
    pub fn achieved(&self, accel_khz: u32, mem_khz: u32) -> OperatingPoint {
        let clocks = &self.platform.clocks;
        let level = |levels: &[u32], request: u32| {
            // Clock tables have at most 64 levels.
            levels.partition_point(|khz| *khz < request).min(levels.len() - 1) as u8
        };
        OperatingPoint {
            mem: level(&clocks.mem_khz, mem_khz),
            accel: level(&clocks.accel_khz, accel_khz),
        }
    }

    /// How the device warms up.
    pub fn thermal(&self) -> &ThermalModel {
        &self.thermal
    }

    /// Decodes without noise. The point must be inside the platform's clock tables.
    pub fn decode(&self, shape: &LlmShape, point: OperatingPoint) -> Decode {
        model::decode(&self.parameters, self.platform.format, &self.of_format, shape, point)
    }

    /// Time of each kind of matrix–vector product in one decoded token, all of its repetitions
    /// together, in s. Their sum is the time per token. The point must be inside the clock tables.
    pub fn operator_times(&self, shape: &LlmShape, point: OperatingPoint) -> Vec<(Gemv, f64)> {
        let format = self.platform.format;
        let time = |gemv: &Gemv| {
            model::product_time(&self.parameters, format, &self.of_format, gemv, point).total_s
        };
        shape.gemvs().into_iter().map(|g| (g, f64::from(g.count) * time(&g))).collect()
    }

    /// Decodes at every operating point, in the order of the platform's clock tables.
    pub fn decode_all(&self, shape: &LlmShape) -> Vec<(OperatingPoint, Decode)> {
        let points = self.platform.clocks.points();
        points.map(|point| (point, self.decode(shape, point))).collect()
    }

    /// Memory that the system leaves to a model, bytes.
    pub fn usable_bytes(&self) -> u64 {
        self.parameters.usable_bytes
    }

    /// Whether weights and the key/value cache of 4096 tokens (16 bit) fit the memory that the
    /// system leaves to a model. Shapes that do not fit are for callers to skip and count.
    pub fn fits(&self, shape: &LlmShape) -> bool {
        let weights = self.platform.format.bytes_for(shape.total_params());
        let cache =
            CONTEXT_TOKENS * u64::from(shape.dims().layers) * u64::from(shape.kv_width()) * 4;
        weights + cache <= self.parameters.usable_bytes
    }

    /// Measures every model at every operating point, rows sorted by model, then point.
    ///
    /// Noise is drawn per (model, point) from `seed`: it depends on no order and no thread.
    pub fn measure(&self, models: &[Model], noise: Noise, seed: u64) -> MeasurementTable {
        let mut rows = Vec::with_capacity(models.len() * self.platform.clocks.len());
        for (model, of) in models.iter().enumerate() {
            for (index, point) in self.platform.clocks.points().enumerate() {
                let exact = self.decode(&of.shape, point);
                // The accelerator's share is what is noisy, so that it never exceeds the whole.
                let share = exact.accel_power_w / exact.power_w;
                let [throughput_tok_per_s, power_w, noisy_share] = noise.apply(
                    [exact.throughput_tok_per_s, exact.power_w, share],
                    seed,
                    model,
                    index,
                );
                rows.push(Row {
                    // Tables of more than 2^32 models would not fit any memory.
                    model: model as u32,
                    point,
                    throughput_tok_per_s,
                    power_w: Some(power_w),
                    accel_power_w: Some(power_w * noisy_share.min(1.0)),
                    samples: SAMPLES,
                });
            }
        }
        MeasurementTable {
            platform: self.platform.clone(),
            source: Source::Simulated(self.platform.name.clone()),
            workload: Workload::default(),
            models: models.to_vec(),
            rows,
        }
    }
}
