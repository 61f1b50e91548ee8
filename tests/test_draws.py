"""The random stream: known answers of Philox4x32-10, addresses that do not meet, uniforms that are uniform."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from solvent.lab.draws import AT_READOUTS, AT_RESET, fill_uniforms, key_from_seed, philox

# Known answers of Random123 (Salmon et al. 2011), philox4x32-10: counter, key (low word first), result.
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF, 0xFFFFFFFF), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


def uniforms(count, key=1, episode=0, step=0, purpose=AT_READOUTS):
    out = np.full(count, np.nan)
    fill_uniforms(out, count, np.uint64(key), episode, step, purpose)
    return out


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_known_answers_of_philox(counter, key, expected):
    words = philox(*(np.uint64(c) for c in counter), np.uint64(key[1] << 32 | key[0]))
    assert tuple(int(word) for word in words) == expected


def test_the_counter_is_block_step_episode_purpose():
    out = uniforms(8, key=5, episode=3, step=2, purpose=1)
    for block in (0, 1):
        words = philox(np.uint64(block), np.uint64(2), np.uint64(3), np.uint64(1), np.uint64(5))
        assert out[4 * block : 4 * block + 4].tolist() == [int(word) / 2**32 for word in words]


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1), st.integers(0, 100_000), st.integers(1, 9))
def test_uniforms_are_in_0_to_1_and_only_as_many_as_asked_for_are_written(key, episode, step, count):
    out = np.full(count + 3, np.nan)
    fill_uniforms(out, count, np.uint64(key), episode, step, AT_RESET)
    assert ((out[:count] >= 0.0) & (out[:count] < 1.0)).all()
    assert np.isnan(out[count:]).all()


@given(st.integers(1, 12), st.integers(1, 12))
def test_how_many_are_drawn_does_not_change_which(few, many):
    few, many = sorted([few, many])
    assert (uniforms(few) == uniforms(many)[:few]).all()


def test_uniforms_are_uniform_along_every_part_of_the_address():
    # Fixed seeds; a p-value this small would be a fault, not luck.
    assert kstest(uniforms(4_000), "uniform").pvalue > 1e-4
    assert kstest([uniforms(1, step=s)[0] for s in range(2_000)], "uniform").pvalue > 1e-4
    assert kstest([uniforms(1, episode=e)[0] for e in range(2_000)], "uniform").pvalue > 1e-4
    assert kstest([uniforms(1, key=key_from_seed(k))[0] for k in range(2_000)], "uniform").pvalue > 1e-4


def test_neighbouring_and_huge_seeds_have_keys_of_their_own():
    seeds = [*range(1_000), *(2**k + d for k in (32, 64, 128) for d in (0, 1, 2))]
    assert len({key_from_seed(seed) for seed in seeds}) == len(seeds)
