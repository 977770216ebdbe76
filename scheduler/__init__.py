"""The scheduler: gives every pod that has no node the best node that can take it (steps S1 to S5).

watch → cache ─┐
               ├─ snapshot → cycle (pure) → decision → assume → bind (async)
watch → queue ─┘
"""
