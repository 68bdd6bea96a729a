"""What a Kubernetes quantity means and how it is written."""

import pytest

from refloat_common.core.quantity import (
    Format,
    Quantity,
    QuantityShapeError,
    QuantitySuffixError,
    from_units,
    parse,
)


@pytest.mark.parametrize(
    ("text", "nanos", "canonical"),
    [
        ("0", 0, "0"),
        ("-0", 0, "0"),
        ("+", 0, "0"),
        (".", 0, "0"),
        ("1", 10**9, "1"),
        ("1.", 10**9, "1"),
        ("001", 10**9, "1"),
        ("-1Gi", -(2**30) * 10**9, "-1Gi"),
        ("1000m", 10**9, "1"),
        ("1500m", 15 * 10**8, "1500m"),
        ("0.5", 5 * 10**8, "500m"),
        ("1000M", 10**18, "1G"),
        ("1e3", 10**12, "1e3"),
        ("1E3", 10**12, "1e3"),
        ("12e2", 12 * 10**11, "1200"),
        ("1E", 10**27, "1E"),
        ("1000E", 10**30, "1000E"),
        ("512Mi", 2**29 * 10**9, "512Mi"),
        ("1024Mi", 2**30 * 10**9, "1Gi"),
        ("1.5Gi", 3 * 2**29 * 10**9, "1536Mi"),
        (".5Gi", 2**29 * 10**9, "512Mi"),
        ("0.1Gi", 107374182400 * 10**6, "107374182400m"),
        ("1Ki", 1024 * 10**9, "1Ki"),
        ("0.5Ki", 512 * 10**9, "512"),
        ("0.0001Ki", 102400000, "102400u"),
        ("0.1n", 1, "1n"),
        ("-0.1n", -1, "-1n"),
        ("9223372036854775808", 9223372036854775808 * 10**9, "9223372036854775808"),
        ("2048Ei", 2**71 * 10**9, "2048Ei"),
    ],
)
def test_means_and_is_written(text: str, nanos: int, canonical: str) -> None:
    quantity = parse(text)
    assert (quantity.nanos, str(quantity)) == (nanos, canonical)
    assert parse(str(quantity)).nanos == nanos


@pytest.mark.parametrize("text", ["", " 1", "1 ", "1\n", "1..5Gi", "512 Mi", "512MB", "0x10", "1ExbI", "½", "1" * 257])
def test_no_quantity_by_its_shape(text: str) -> None:
    with pytest.raises(QuantityShapeError):
        parse(text)


@pytest.mark.parametrize("text", ["512mi", "1G1", "1K", "1kk", "1e", "1e+", "1e129", "1E-9999999999999999999"])
def test_no_quantity_by_its_suffix(text: str) -> None:
    with pytest.raises(QuantitySuffixError):
        parse(text)


def test_a_sum_is_exact_and_keeps_the_family_of_the_left() -> None:
    assert str(parse("512Mi") + parse("512Mi")) == "1Gi"
    assert str(parse("1Gi") + parse("1G")) == "2073741824"
    assert str(parse("1G") + parse("1Gi")) == "2073741824"
    assert str(parse("0") + parse("1Gi")) == "1Gi"
    assert str(parse("99999999999999999999Ei") + parse("1")).startswith("115292150460684697598847")


def test_units_are_rounded_up() -> None:
    assert parse("0.1Gi").units == 107374183
    assert parse("1n").units == 1
    assert parse("-1500m").units == -1


@pytest.mark.parametrize(
    ("text", "factor", "up", "down"),
    [
        ("1Gi", 1.5, "1536Mi", "1536Mi"),
        ("1Gi", 1.1, "1181116007", "1181116006"),
        ("100Mi", 1.1, "115343361", "110Mi"),
        ("1000M", 1.1, "1100M", "1100M"),
        ("1e9", 2.25, "2250e6", "2250e6"),
        ("1Gi", 1e10, "9765625Ti", "9765625Ti"),
        ("1", 1e30, "1000000000000E", "1000000000000E"),
        ("9223372036854775807", 1.1, "10145709240540253388", "10145709240540253387"),
    ],
)
def test_products(text: str, factor: float, up: str, down: str) -> None:
    assert (str(parse(text).times_up(factor)), str(parse(text).times_down(factor))) == (up, down)


def test_a_small_or_broken_binary_amount_is_written_like_a_decimal_one() -> None:
    assert str(Quantity(1023 * 10**9, Format.BINARY_SI)) == "1023"
    assert str(Quantity(10**6, Format.BINARY_SI)) == "1m"
    assert str(from_units(1025, Format.BINARY_SI)) == "1025"
