"""Parts of `bench/overload.py`: real servers under more load than they can take."""
