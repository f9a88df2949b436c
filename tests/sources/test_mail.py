"""Mail, articles and HTML to text."""

from __future__ import annotations

from email.message import EmailMessage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plausible.errors import CallError
from plausible.sources.mail import check_headers, document_text, html_text, looks_like_mail, message_text

ARTICLE = "From: ann@x.org\nSubject: Re: engines\n of war\nX-Odd: 1\n\nThe body.\n\nSubject: not a header\n"


@pytest.mark.parametrize(
    ("headers", "text"),
    [
        ("subject", "Re: engines of war\nThe body.\n\nSubject: not a header\n"),
        ("none", "The body.\n\nSubject: not a header\n"),
        ("all", ARTICLE),
        ("x-odd,from", "ann@x.org\n1\nThe body.\n\nSubject: not a header\n"),
        ("missing", "The body.\n\nSubject: not a header\n"),
    ],
)
def test_headers(headers: str, text: str) -> None:
    assert message_text(ARTICLE, headers) == text
    assert message_text(ARTICLE.encode(), headers) == text


@pytest.mark.parametrize(
    "text",
    ["", "Note: this\n\nis prose", "Subject: no blank line", "Hello\nSubject: x\n\n", "a: b\nFrom : c\n\n"],
)
def test_what_is_no_mail_stays(text: str) -> None:
    assert not looks_like_mail(text)
    assert message_text(text, "none") == text


def test_crlf_and_postmark() -> None:
    assert message_text("From x Mon Jan  1 00:00:00 2024\r\nSubject: a\r\n\r\nb\r\n") == "a\nb\r\n"


def test_plain_is_preferred_and_attachments_are_left_out() -> None:
    mail = EmailMessage()
    mail["Subject"] = "Zażółć 分类"
    mail.set_content("plain text\n")
    mail.add_alternative("<p>html text</p>", subtype="html")
    mail.add_attachment(b"secret", maintype="application", subtype="octet-stream", filename="a.bin")
    mail.add_attachment("secret", filename="a.txt")
    text = message_text(mail.as_bytes())
    assert text == "Zażółć 分类\nplain text\n"


def test_html_part_becomes_text() -> None:
    mail = MIMEMultipart("alternative")
    mail["Subject"] = "=?gb2312?B?1tDOxA==?="
    mail.attach(MIMEText("  \n", "plain"))
    mail.attach(MIMEText("<style>x</style><p>caf&eacute;<br>two</p>", "html", "iso-8859-1"))
    assert message_text(mail.as_bytes()) == "中文\ncafé\ntwo"


@pytest.mark.parametrize(
    ("charset", "body", "text"),
    [
        ("gb2312", "分类垃圾邮件".encode("gb18030"), "分类垃圾邮件"),
        ("utf-8", "café et thé\n".encode("latin-1"), "café et thé\n"),
        ("x-unheard-of", "café".encode(), "café"),
        ("iso-2022-jp", "日本語".encode("iso-2022-jp"), "日本語"),
        ("us-ascii", b"it\x92s", "it’s"),
    ],
)
def test_charsets_true_and_false(charset: str, body: bytes, text: str) -> None:
    head = f"Subject: s\nContent-Type: text/plain; charset={charset}\n\n".encode()
    assert message_text(head + body) == "s\n" + text


def test_a_message_already_decoded() -> None:
    """A cell of a table holds text, whatever charset its headers still speak of."""
    mail = "Subject: 通知\nContent-Type: text/plain; charset=gb2312\n\n您好，请查收。\n"
    assert message_text(mail) == "通知\n您好，请查收。\n"


@pytest.mark.parametrize(
    "subject", ["=?utf-8?b?####?=", "=?no-such?q?caf=E9?=", "=?utf-8?q?=E9?=", "=?=?=?=", "=?utf-8?q??="]
)
def test_broken_subjects_survive(subject: str) -> None:
    assert message_text(f"Subject: {subject}\n\nbody").endswith("body")


@given(st.binary(max_size=300), st.sampled_from(["subject", "all", "none", "from,x"]))
def test_any_mail_survives(noise: bytes, headers: str) -> None:
    for kind in (
        b"text/plain; charset=utf-7",
        b"text/html",
        b"multipart/mixed; boundary=b",
        b"message/rfc822",
    ):
        for coding in (b"base64", b"quoted-printable", b"x-uuencode", b"8bit"):
            mail = b"Subject: " + noise[:20].replace(b"\n", b"") + b"\nContent-Type: " + kind
            mail += b"\nContent-Transfer-Encoding: " + coding + b"\n\n--b\n\n" + noise
            assert isinstance(message_text(mail, headers), str)
            assert isinstance(message_text(mail.decode("latin-1"), headers), str)


def test_deep_nesting_survives() -> None:
    mail = b"Subject: s\n" + b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (i, i) for i in range(3000)
    )
    assert message_text(mail + b"\nend").startswith("s\n")


def test_html() -> None:
    page = "<!DOCTYPE html><html><head><title>no</title></head><body><h1>A&nbsp;&lt;b</h1>x<i>y</i>z<td>c</body>"
    assert html_text(page) == "A\xa0<b\nxyz\nc"
    assert html_text("") == ""
    assert document_text(page.encode(), "page", "subject", None)[0] == "A\xa0<b\nxyz\nc"
    assert html_text("<div>" * 3_000 + "x" + " " * 1_000_000) == "x"


def test_check_headers() -> None:
    assert check_headers("From, Subject") == "from,subject"
    for wrong in ("", "from,,to", "all,from", "no colon:"):
        with pytest.raises(CallError, match="headers"):
            check_headers(wrong)
