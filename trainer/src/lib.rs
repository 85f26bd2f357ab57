//! The training pipeline behind the `train` command.
