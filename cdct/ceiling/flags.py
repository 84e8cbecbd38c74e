"""What the flags of a CCB reply mean, in words that go on after "3 of 40"."""

FLAGS = {
    "truncated": "replies hit their token limit: what was written last may have been cut and is not read",
    "label": 'replies label a step or the answer otherwise than "Step 3:" and "ANSWER:"',
    "steps_extra": "replies have steps beyond the depth: they are left out",
    "steps_unordered": "replies give their steps in another order: they go by their numbers",
    "steps_repeated": "replies give a step twice: the last state counts",
    "steps_revised": "replies give a step twice with different states: the last one counts",
    "steps_unreadable": "replies have a step whose state can't be read: it counts as missing",
    "steps_empty": "replies number a step without a state: it counts as missing",
    "answer_repeated": "replies give their answer twice: the last one counts",
    "answer_revised": "replies give different answers: the last one counts",
    "answer_unreadable": "replies have an answer that can't be read",
    "more_than_asked": "replies state other pairs than the one asked: only that one counts",
    "layout": "replies are laid out otherwise than asked, and were read all the same",
    "order": "replies list the parts of a state in another order",
    "wording": "replies state a relation in other words, or list pairs as having none",
    "told": "replies give an answer in the words of an operation, which may be no more than its echo",
    "repeated": "replies list something twice with the same value",
    "prose": "replies have words around a state",
    "several": "replies have more than one state where one should be: the last one counts",
}
