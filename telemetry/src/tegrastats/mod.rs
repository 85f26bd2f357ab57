//! tegrastats of every Jetson and JetPack, with and without root.

mod board;
mod line;
mod reader;

pub(crate) use board::rail_column;
pub use board::{Board, PowerTotal};
pub use reader::Tegrastats;
pub(crate) use reader::looks_like_tegrastats;
