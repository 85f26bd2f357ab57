//! Collection of measurements on a real device: an engine at every operating point.
