"""Why a model cannot be loaded: the hub fails, files are not whole or of another format, or a package is missing."""
