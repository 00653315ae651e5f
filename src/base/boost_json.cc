// The only compiled copy of Boost.JSON.
#include <boost/json/src.hpp>
