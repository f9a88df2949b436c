// How a number is said with its noun, which is given for one of them; the package says it by plausible.wording.
#pragma once

#include <string>

template <class Whole>
std::string quantity(Whole number, const char* noun) {
    return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}
