"""Counts the words of a book: fan out by chapter, join. Takes `{"text": ...}`.

A chapter begins with a line that holds one capital letter, as in a dictionary.
"""

import composer


@composer.action
def split(book):
    """The chapters, each with its title and text."""
    import re

    parts = re.split(r"^([A-Z])$", book["text"], flags=re.MULTILINE)
    titles, texts = parts[1::2], parts[2::2]
    return {"value": [{"title": t, "text": x} for t, x in zip(titles, texts, strict=True)]}


@composer.action
def count(chapter):
    """How often each word stands in a chapter."""
    import re
    from collections import Counter

    words = re.findall(r"[a-z]+(?:'[a-z]+)?", chapter["text"].lower())
    return {"title": chapter["title"], "counts": Counter(words)}


@composer.action
def total(chapters):
    """All counts together: the words there are, and the ten most frequent long ones."""
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
