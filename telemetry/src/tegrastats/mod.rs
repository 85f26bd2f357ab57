//! tegrastats of every Jetson and JetPack, with and without root.

mod board;
mod line;
mod reader;

pub use board::{Board, PowerTotal};
pub use reader::Tegrastats;
