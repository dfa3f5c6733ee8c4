"""A small program to profile: loops, a with, a statement of two lines, a function that never runs."""


def work(n):
    items = []
    for i in range(n):
        items.append(i * 2)
    with open("/dev/null", "w") as f:
        f.write("x")
    return sum(
        items)


def outer():
    for _ in range(50):
        work(200)
    name = "# not a comment: é"
    if name is None:
        raise ValueError
    return name


def never():
    return 1


try:
    profile
except NameError:
    def profile(f):
        return f

work = profile(work)
outer = profile(outer)
never = profile(never)
outer()
