"""CSE: how many constraints can a model keep at once, when each is checked by a rule and none by a judge?"""
