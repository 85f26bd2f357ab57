//! What is to be measured, and in which order.

use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::engine::Request;
use crate::models::Candidate;
use crate::setting::Setting;

/// One model at one operating point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// Index into the plan's models.
    pub model: usize,
    /// Index into the plan's settings.
    pub setting: usize,
}

/// A whole collection.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Models.
    pub models: Vec<Candidate>,
    /// Operating points.
    pub settings: Vec<Setting>,
    /// What a run does; threads come from the setting.
    pub request: Request,
    /// Name of the engine.
    pub engine: String,
    /// [`Engine::identity`](crate::Engine::identity) of the engine.
    pub engine_identity: String,
    /// Seed of the order.
    pub seed: u64,
}

impl Plan {
    /// The cells of a round, each once, in an order that the seed decides: models shuffled, and
    /// for each its operating points shuffled, so that a model is loaded once. Repetitions of a
    /// cell lie in different rounds: a drift of the machine goes into their spread instead of
    /// looking like a property of models.
    pub fn order(&self, round: u32) -> Vec<Cell> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let mut seed = rng.random::<u64>();
        for _ in 0..round {
            seed = rng.random::<u64>();
        }
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut models: Vec<usize> = (0..self.models.len()).collect();
        models.shuffle(&mut rng);
        let mut cells = Vec::with_capacity(models.len() * self.settings.len());
        for model in models {
            let mut settings: Vec<usize> = (0..self.settings.len()).collect();
            settings.shuffle(&mut rng);
            cells.extend(settings.into_iter().map(|setting| Cell { model, setting }));
        }
        cells
    }

    /// All cells.
    pub fn cells(&self) -> usize {
        self.models.len() * self.settings.len()
    }

    /// Position of a cell among all.
    pub fn index(&self, cell: Cell) -> usize {
        cell.model * self.settings.len() + cell.setting
    }

    /// Digest of everything that results depend on: a journal belongs to one plan.
    pub fn digest(&self) -> String {
        let mut text = format!("{}\n{:?}\n{}\n", self.engine_identity, self.request, self.seed);
        for m in &self.models {
            text += &format!("{} {} {:?}\n", m.model.name, m.format, m.model.shape.dims());
        }
        for s in &self.settings {
            text += &format!("{s}\n");
        }
        enerinfer_artifacts::digest(text.as_bytes())
    }
}
