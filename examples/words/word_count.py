"""Counts the words of a book: counts each chapter in parallel, and adds up the counts.

The input is `{"text": ...}`. A chapter begins with a line that holds one capital letter, as in a
dictionary.
"""

from xingqiao import composer


@composer.action
def split(book):
    """Returns the chapters, each with its title and text."""
    import re

    parts = re.split(r"^([A-Z])$", book["text"], flags=re.MULTILINE)
    titles, texts = parts[1::2], parts[2::2]
    return {"value": [{"title": t, "text": x} for t, x in zip(titles, texts, strict=True)]}


@composer.action
def count(chapter):
    """Counts each word of a chapter."""
    import re
    from collections import Counter

    words = re.findall(r"[a-z]+(?:'[a-z]+)?", chapter["text"].lower())
    return {"title": chapter["title"], "counts": Counter(words)}


@composer.action
def total(chapters):
    """Adds up the counts, and lists the ten most frequent words of more than five letters."""
    from collections import Counter

    counts = sum((Counter(chapter["counts"]) for chapter in chapters["value"]), Counter())
    long = Counter({word: n for word, n in counts.items() if len(word) > 5})
    return {
        "chapters": len(chapters["value"]),
        "words": sum(counts.values()),
        "different": len(counts),
        "most_frequent": dict(long.most_common(10)),
    }


word_count = composer.sequence(split, composer.map(count, concurrency=8), total)
