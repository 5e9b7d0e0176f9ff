"""How people are asked: cards, buttons, fields, answers. Pure: values in, values out."""
