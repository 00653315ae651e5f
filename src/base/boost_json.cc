// Boost.JSON's one compiled copy.
#include <boost/json/src.hpp>
