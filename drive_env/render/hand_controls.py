"""What does a person request by keyboard or gamepad? Shares of pedal and wheel, a reset, or the end."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

HELP = "arrow keys or WASD drive, Space brakes, R begins the next episode, Esc quits"
"""What the window and the command show."""

WHEEL_PER_S = 2.5
"""Speed of the wheel, in shares of its limit, while a key is held: a tap is a small correction."""

WHEEL_BACK_PER_S = 5.0
"""That at which it returns to the middle."""

DEAD_SHARE = 0.12
"""Deflection below which the stick of a gamepad counts as centred."""

STEER_AXIS, PEDAL_AXIS = 0, 1
"""Of the left stick; values are negative to the left and ahead."""

BRAKE_BUTTON, RESET_BUTTON = 0, 7
"""A and Start of most gamepads."""


class HandControls:
    """The keys that are held and the gamepads that are connected, from the events of pygame.

    Args:
        pygame: the module.

    Attributes:
        resets: whether a reset was requested since `begin_step`.
        quits: whether the end was requested.
    """

    def __init__(self, pygame: Any) -> None:
        self._pygame, self._held, self._wheel = pygame, set[int](), 0.0
        self._pads: dict[int, Any] = {}
        self._ahead, self._back = {pygame.K_UP, pygame.K_w}, {pygame.K_DOWN, pygame.K_s}
        self._left, self._right = {pygame.K_LEFT, pygame.K_a}, {pygame.K_RIGHT, pygame.K_d}
        self.resets = self.quits = False

    def begin_step(self) -> None:
        """Reads the events since the last step."""
        self.resets = False
        for event in self._pygame.event.get():
            self._read(event)

    def _read(self, event: Any) -> None:
        pygame = self._pygame
        if event.type == pygame.KEYDOWN:
            self._held.add(event.key)
            self.resets |= event.key == pygame.K_r
            self.quits |= event.key == pygame.K_ESCAPE
        elif event.type == pygame.KEYUP:
            self._held.discard(event.key)
        elif event.type == pygame.WINDOWFOCUSLOST:  # releases of keys are then not reported
            self._held.clear()
        elif event.type == pygame.QUIT:
            self.quits = True
        elif event.type == pygame.JOYDEVICEADDED:  # also for those connected before the start
            with suppress(pygame.error):  # it is gone again
                pad = pygame.joystick.Joystick(event.device_index)
                self._pads[pad.get_instance_id()] = pad
        elif event.type == pygame.JOYDEVICEREMOVED:
            self._pads.pop(event.instance_id, None)
        elif event.type == pygame.JOYBUTTONDOWN and event.button == RESET_BUTTON:
            self.resets = True

    def shares(self, dt_s: float) -> tuple[float, float]:
        """Pedal and wheel, as for `hand_action`; the stick of a gamepad counts where no key is held.

        Args:
            dt_s: time since the last call, in which the wheel turns.
        """
        held = lambda keys: bool(self._held & keys)
        steer, pedal = self._sticks()
        wanted = float(held(self._left)) - float(held(self._right))
        if wanted:
            self._wheel = min(max(self._wheel + wanted * WHEEL_PER_S * dt_s, -1.0), 1.0)
        else:
            back = WHEEL_BACK_PER_S * dt_s
            self._wheel -= min(max(self._wheel, -back), back)
        pedal = float(held(self._ahead)) - float(held(self._back)) or pedal
        if self._pygame.K_SPACE in self._held or any(
                pad.get_numbuttons() > BRAKE_BUTTON and pad.get_button(BRAKE_BUTTON) for pad in self._pads.values()):
            pedal = -1.0
        return pedal, steer if steer and not self._wheel else self._wheel

    def _sticks(self) -> tuple[float, float]:
        """Wheel and pedal of the first gamepad whose stick is deflected."""
        for pad in self._pads.values():
            if pad.get_numaxes() > max(STEER_AXIS, PEDAL_AXIS):
                found = [-pad.get_axis(axis) for axis in (STEER_AXIS, PEDAL_AXIS)]
                steer, pedal = (share if abs(share) > DEAD_SHARE else 0.0 for share in found)
                if steer or pedal:
                    return steer, pedal
        return 0.0, 0.0
