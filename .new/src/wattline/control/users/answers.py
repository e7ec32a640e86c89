"""A compiler for users' policies whose answer is a whole number of 64 bits, however numba would call its type.

numba takes ``return 0`` for a function that returns the constant 0, and a comparison for one that returns a boolean;
the loop calls policies of one signature. The type is set as soon as numba has found it, so that a policy is compiled
once. Functions that a policy calls keep theirs.
"""

# mypy: allow-untyped-calls

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import ir
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.typed_passes import NopythonTypeInference

from wattline.control.users.doors import Judged


@register_pass(mutates_CFG=False, analysis_only=False)
class _AnswerInFull(AnalysisPass):
    _name = "wattline_answer_in_full"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Let the function return 64 bits where it returns some whole number.

        What it returns is a variable of its own, converted from what the source names (``cast`` in numba's code).
        """
        if not isinstance(state.return_type, (types.Integer, types.Boolean)) or state.return_type == types.int64:
            return False
        state.return_type = types.int64
        for block in state.func_ir.blocks.values():
            if isinstance(block.terminator, ir.Return):
                returned = block.terminator.value.name
                state.typemap.pop(returned)  # a type is set once
                state.typemap[returned] = types.int64
        return True


class JudgedPolicy(Judged):
    """The compiler that judges users' functions, for the policy itself."""

    def define_pipelines(self) -> Any:
        """Return the passes of the judge with ours among them."""
        pipelines = super().define_pipelines()
        for passes in pipelines:
            passes.add_pass_after(_AnswerInFull, NopythonTypeInference)
            passes.finalize()
        return pipelines
