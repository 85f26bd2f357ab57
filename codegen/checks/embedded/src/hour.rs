//! An hour of tokens under both controllers, on a made-up device of whole numbers.

use enerinfer_runtime::coordinator::{Config, Coordinator, Fronts};
use enerinfer_runtime::model::THERMAL;
use enerinfer_runtime::tables::Tables;
use enerinfer_runtime::temperature::MilliCelsius;
use enerinfer_runtime::thermal_model::ThermalModel;
use enerinfer_runtime::time::Micros;
use enerinfer_runtime::units::MicroTokPerS;

const HOUR_US: u64 = 3_600_000_000;
const SECOND_US: u64 = 1_000_000;
const AMBIENT_MC: i64 = 25_000;
/// At the point of the highest power the shell would end this much above the air: too hot.
const HOTTEST_RISE_MC: i64 = 25_000;
/// Time constant of the shell in seconds.
const TIME_CONSTANT_S: i64 = 200;

/// Feeds the operating point of every second, and the shell's temperature there.
pub fn run<const N: usize>(tables: &Tables<N>, mut feed: impl FnMut(u32)) {
    let fronts = Fronts::new(tables);
    let thermal = THERMAL.unwrap_or(ThermalModel::PERSISTENCE);
    let mut control = Coordinator::new(tables, &fronts, &thermal, Config::default());
    let at = |list: &[u32; N], point: u16| list.get(usize::from(point)).copied().unwrap_or(1);
    let throughput = tables.throughput.map(|r| r.0);
    let power = tables.power.map(|p| p.0);
    let most = |list: &[u32; N]| list.iter().copied().max().unwrap_or(1).max(1);
    let (fastest, hottest) = (most(&throughput), most(&power));
    let mut shell_mc = AMBIENT_MC;
    let mut now_us = 0;
    let mut next_second_us = 0;
    let mut point = control.begin_prefill(Micros(0)).unwrap_or(0);
    point = control.begin_decode(MicroTokPerS(fastest / 2), Micros(0)).unwrap_or(point);
    while now_us < HOUR_US {
        now_us += 1_000_000_000_000 / u64::from(at(&throughput, point).max(1));
        point = control.on_token(Micros(now_us)).unwrap_or(point);
        while next_second_us <= now_us {
            let end_mc = AMBIENT_MC
                + HOTTEST_RISE_MC * i64::from(at(&power, point)) / i64::from(hottest);
            shell_mc += (end_mc - shell_mc) / TIME_CONSTANT_S;
            let reading = Some(MilliCelsius(shell_mc as i32));
            point = control.tick(Micros(next_second_us), reading).unwrap_or(point);
            feed(u32::from(point));
            feed(shell_mc as u32);
            next_second_us += SECOND_US;
        }
    }
    control.end();
}
