"""How do tests write a CommonRoad scenario? Element by element, from the description of the format."""

from __future__ import annotations


def point(x, y):
    return f"<point><x>{x}</x><y>{y}</y></point>"


def exact(tag, value):
    return f"<{tag}><exact>{value}</exact></{tag}>"


def interval(tag, low, high):
    return f"<{tag}><intervalStart>{low}</intervalStart><intervalEnd>{high}</intervalEnd></{tag}>"


def lanelet(number, left, right, parts="", marking="solid"):
    """A lanelet with its bounds, lists of (x, y), and further elements."""
    bounds = "".join(f"<{side}>{''.join(point(*at) for at in points)}<lineMarking>{marking}</lineMarking></{side}>"
                     for side, points in (("leftBound", left), ("rightBound", right)))
    return f'<lanelet id="{number}">{bounds}{parts}</lanelet>'


def straight(number, y=0.0, start=0.0, end=40.0, parts="", marking="solid", width=4.0):
    """A lanelet along +x, in four-metre lanes."""
    return lanelet(number, [(start, y + width / 2), (end, y + width / 2)],
                   [(start, y - width / 2), (end, y - width / 2)], parts, marking)


def references(**tags):
    """Elements that refer to others: successor=2, or adjacentLeft=(2, "same")."""
    made = ""
    for tag, value in tags.items():
        number, direction = value if isinstance(value, tuple) else (value, None)
        made += f'<{tag} ref="{number}"' + (f' drivingDir="{direction}"' if direction else "") + "/>"
    return made


def rectangle(length=4.5, width=2.0, parts=""):
    return f"<rectangle><length>{length}</length><width>{width}</width>{parts}</rectangle>"


def state(time, x, y, heading=0.0, speed=None, tag="state"):
    velocity = "" if speed is None else exact("velocity", speed)
    return (f"<{tag}><position>{point(x, y)}</position>{exact('orientation', heading)}{exact('time', time)}"
            f"{velocity}</{tag}>")


def dynamic(number, states, kind="car", shape=None, version="2020a"):
    """An obstacle that moves; `states` are arguments of `state`, the first is the initial one."""
    first, *others = states
    trajectory = f"<trajectory>{''.join(state(*at) for at in others)}</trajectory>" if others else ""
    inner = (f"<type>{kind}</type><shape>{shape or rectangle()}</shape>{state(*first, tag='initialState')}{trajectory}")
    if version == "2018b":
        return f'<obstacle id="{number}"><role>dynamic</role>{inner}</obstacle>'
    return f'<dynamicObstacle id="{number}">{inner}</dynamicObstacle>'


def static(number, x, y, heading=0.0, kind="parkedVehicle", shape=None, version="2020a"):
    inner = f"<type>{kind}</type><shape>{shape or rectangle()}</shape>{state(0, x, y, heading, tag='initialState')}"
    if version == "2018b":
        return f'<obstacle id="{number}"><role>static</role>{inner}</obstacle>'
    return f'<staticObstacle id="{number}">{inner}</staticObstacle>'


def problem(number, x, y, heading=0.0, speed=5.0, goal=""):
    goals = f"<goalState>{goal}</goalState>" if goal else ""
    start = state(0, x, y, heading, speed, tag="initialState")
    return f'<planningProblem id="{number}">{start}{goals}</planningProblem>'


def light(number, phases, offset=None, parts=""):
    """A light; `phases` are (duration, colour)."""
    made = "".join(f"<cycleElement><duration>{steps}</duration><color>{colour}</color></cycleElement>"
                   for steps, colour in phases)
    shift = "" if offset is None else f"<timeOffset>{offset}</timeOffset>"
    return f'<trafficLight id="{number}"><cycle>{made}{shift}</cycle>{parts}</trafficLight>'


def sign(number, *elements):
    """A sign; `elements` are (number, additional values ...)."""
    made = "".join(f"<trafficSignElement><trafficSignID>{name}</trafficSignID>"
                   + "".join(f"<additionalValue>{value}</additionalValue>" for value in values)
                   + "</trafficSignElement>" for name, *values in elements)
    return f'<trafficSign id="{number}">{made}</trafficSign>'


def document(*parts, version="2020a", dt=0.1, benchmark="ZAM_Made-1_1_T-1", **attributes):
    more = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return (f'<?xml version="1.0" encoding="UTF-8"?>\n<commonRoad timeStepSize="{dt}" commonRoadVersion="{version}" '
            f'benchmarkID="{benchmark}"{more}>{"".join(parts)}</commonRoad>').encode()


def small_scenario(version="2020a"):
    """Two lanes side by side, of which the right one leads on; a car, a pedestrian, a parked car and a problem."""
    lanes = [straight(1, 502.0, 1000.0, 1040.0,
                      references(successor=3, adjacentLeft=(2, "same"), trafficLightRef=7)),
             straight(2, 506.0, 1000.0, 1040.0, references(adjacentRight=(1, "same"))),
             straight(3, 502.0, 1040.0, 1080.0)]
    moving = [(0, 1010.0, 502.0, 0.0, 10.0), (1, 1011.0, 502.0, 0.0, 10.0), (2, 1012.0, 502.0, 0.0, 10.0)]
    walking = [(1, 1030.0, 496.0, 1.5, 1.0), (2, 1030.0, 496.1, 1.5, 1.0)]
    parts = [dynamic(41, moving, version=version),
             dynamic(42, walking, "pedestrian", "<circle><radius>0.4</radius></circle>", version=version),
             static(43, 1020.0, 506.0, version=version),
             problem(100, 1002.0, 502.0, goal='<position><lanelet ref="3"/></position>' + interval("time", 20, 30))]
    return document(*lanes, light(7, [(20, "red"), (30, "green")], 5), *parts, version=version)
