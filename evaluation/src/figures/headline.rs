//! Accuracy that the paper prints in its text (EnerInfer §4.2, §4.3, §4.6 and §6.1).

/// Published accuracy of one platform; what the paper does not print is `None`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Headline {
    /// Combined throughput MAPE on held-out synthetic models, %.
    pub(super) throughput_percent: Option<f64>,
    /// The same of the monolithic design, %.
    pub(super) monolithic_percent: Option<f64>,
    /// Power MAPE on held-out synthetic models, %.
    pub(super) power_percent: Option<f64>,
    /// Mean deviation on unseen real LLMs, %.
    pub(super) real_percent: Option<f64>,
    /// Throughput MAPE on unseen real LLMs, %.
    pub(super) real_throughput_percent: Option<f64>,
    /// Power MAPE on unseen real LLMs, %.
    pub(super) real_power_percent: Option<f64>,
    /// Mean Kendall's tau of efficiency on unseen real LLMs.
    pub(super) real_tau: Option<f64>,
}

/// What the paper prints for a platform.
pub(super) fn of(platform: &str) -> Headline {
    let synthetic = |throughput, monolithic, power| Headline {
        throughput_percent: Some(throughput),
        monolithic_percent: Some(monolithic),
        power_percent: Some(power),
        ..Headline::default()
    };
    let real = |percent, tau, rest: Headline| Headline {
        real_percent: Some(percent),
        real_tau: Some(tau),
        ..rest
    };
    match platform {
        "laptop" => real(9.7, 0.96, synthetic(4.2, 12.0, 1.5)),
        // The text says "phone"; its figures for synthetic models are of the high-end phone.
        "h_phone" => real(6.5, 0.95, synthetic(2.3, 8.0, 2.2)),
        "board" => real(5.4, 0.65, synthetic(2.4, 7.8, 1.7)),
        "m_phone" => real(12.0, 0.90, Headline::default()),
        "board_gpu" => Headline {
            real_throughput_percent: Some(10.90),
            real_power_percent: Some(5.27),
            real_tau: Some(0.78),
            ..Headline::default()
        },
        _ => Headline::default(),
    }
}
