//! Histograms of a node: sums per distinct value of every feature, for nodes of many rows.
//!
//! All bins are zero between nodes. A bitmap of the occupied ones makes a node pay for the values
//! that its rows have, not for those that the table has.

use crate::CodedMatrix;
use crate::fixed::Sum;
use crate::split::{Row, Winner};

/// Rows per word of the bitmap from which looking at every bin is cheaper than marking rows.
const DENSE: usize = 128;

/// A feature and its place among the bins.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    feature: usize,
    /// First bin; a multiple of 64, so that each word of the bitmap belongs to one feature.
    first: usize,
    /// Words of the bitmap.
    words: usize,
}

/// Bins of all features.
pub(crate) struct Bins {
    sums: Vec<Sum>,
    /// One bit per bin.
    occupied: Vec<u64>,
    places: Vec<Place>,
    /// Room for those that a node asks for.
    dense: Vec<Place>,
    sparse: Vec<Place>,
}

impl Bins {
    pub(crate) fn new(matrix: &CodedMatrix) -> Self {
        let mut places = Vec::new();
        let mut first = 0;
        for feature in 0..matrix.features().len() {
            let words = matrix.distinct(feature).len().div_ceil(64);
            places.push(Place { feature, first, words });
            first += 64 * words;
        }
        Bins {
            sums: vec![Sum::default(); first],
            occupied: vec![0; first / 64],
            places,
            dense: Vec::new(),
            sparse: Vec::new(),
        }
    }

    /// Offers every boundary between the rows of a node in `features` to `winner`; gives those that
    /// are constant in the node.
    #[inline(always)]
    pub(crate) fn scan<const F: usize>(
        &mut self,
        rows: &[Row<F>],
        features: &[u32],
        winner: &mut Winner,
    ) -> u32 {
        self.fill(rows, features);
        let mut constant = 0;
        for &f in features {
            constant |= u32::from(!self.scan_one(f, winner)) << f;
        }
        constant
    }

    /// Adds the rows of a node to the bins of `features`.
    fn fill<const F: usize>(&mut self, rows: &[Row<F>], features: &[u32]) {
        self.dense.clear();
        self.sparse.clear();
        for &f in features {
            let place = self.places[f as usize];
            let dense = rows.len() > DENSE * place.words;
            if dense { &mut self.dense } else { &mut self.sparse }.push(place);
        }
        add(rows, &self.dense, &mut self.sums, |_| ());
        for place in &self.dense {
            let bins = self.sums[place.first..].chunks_exact(64);
            for (word, bins) in
                self.occupied[place.first / 64..][..place.words].iter_mut().zip(bins)
            {
                *word = (0..64).fold(0, |bits, i| bits | u64::from(!bins[i].is_empty()) << i);
            }
        }
        let occupied = &mut self.occupied;
        add(rows, &self.sparse, &mut self.sums, |bin| occupied[bin / 64] |= 1 << (bin % 64));
    }

    /// Offers every boundary between occupied bins of `feature` to `winner` and empties them; false
    /// if the feature is constant in the node.
    fn scan_one(&mut self, feature: u32, winner: &mut Winner) -> bool {
        let Place { first, words, .. } = self.places[feature as usize];
        let sums = &mut self.sums[first..first + 64 * words];
        let mut left = Sum::default();
        let mut last = None;
        let mut varies = false;
        for (w, word) in self.occupied[first / 64..][..words].iter_mut().enumerate() {
            let mut bits = std::mem::take(word);
            while bits != 0 {
                let code = 64 * w + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                if let Some(last) = last {
                    varies = true;
                    let score = winner.score(left);
                    if winner.beaten_by(score) {
                        winner.take(score, feature, (last, code as u16), left);
                    }
                }
                last = Some(code as u16);
                left += std::mem::take(&mut sums[code]);
            }
        }
        varies
    }
}

/// Adds rows to the bins of features, and tells every bin that a row went to.
fn add<const F: usize>(
    rows: &[Row<F>],
    places: &[Place],
    sums: &mut [Sum],
    mut mark: impl FnMut(usize),
) {
    for places in places.chunks(4) {
        match *places {
            [a, b, c, d] => add_together(rows, [a, b, c, d], sums, &mut mark),
            [a, b, c] => add_together(rows, [a, b, c], sums, &mut mark),
            [a, b] => add_together(rows, [a, b], sums, &mut mark),
            [a] => add_together(rows, [a], sums, &mut mark),
            _ => (),
        }
    }
}

/// As [`add`], for a few features in one pass, so that their additions overlap.
#[inline(always)]
fn add_together<const F: usize, const N: usize>(
    rows: &[Row<F>],
    places: [Place; N],
    sums: &mut [Sum],
    mark: &mut impl FnMut(usize),
) {
    for row in rows {
        for place in places {
            let bin = place.first + usize::from(row.codes[place.feature]);
            sums[bin] += row.sum;
            mark(bin);
        }
    }
}
