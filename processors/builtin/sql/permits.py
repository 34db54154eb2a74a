"""What an operator permits generated SQL to touch: names of tables, columns and functions, compared part by part."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from processors.builtin.sql.wordlist import words
from processors.errors import DeclarationError

_ANY = "*"


@dataclass(frozen=True, slots=True)
class Name:
    """A part of a name as SQL has it: one that stands in quotes means these very letters."""

    text: str
    quoted: bool = False

    def means(self, permitted: str) -> bool:
        """Tell whether this is the name that was permitted."""
        return self.text == permitted if self.quoted else self.text.casefold() == permitted.casefold()


class Tables:
    """Permitted tables: `users`, `sales.orders`, `warehouse.sales.orders`, or `sales.*` for all of a schema.

    A name permits what is written with exactly these parts, because what `users` means beside `sales.users` is decided
    by a search path that nobody here knows: permit both spellings where both are to pass.
    """

    def __init__(self, permitted: Iterable[str] | None) -> None:
        names = _names(permitted, "tables")
        self._permitted = None if names is None else [tuple(name.split(".")) for name in names]

    @property
    def limited(self) -> bool:
        """Tell whether there is anything that is not permitted."""
        return self._permitted is not None

    def permits(self, parts: Sequence[Name]) -> bool:
        """Tell whether a table of this name, outermost part first, may be read."""
        return self._permitted is None or any(is_called(parts, permitted) for permitted in self._permitted)


class Columns:
    """Permitted columns: `name` of any table, `users.name` of one, `users.*` for all of one."""

    def __init__(self, permitted: Iterable[str] | None) -> None:
        names = _names(permitted, "columns")
        self.limited = names is not None
        self._anywhere: list[str] = []
        self._of_tables: list[tuple[tuple[str, ...], str]] = []
        for name in names or ():
            *table, column = name.split(".")
            if table:
                self._of_tables.append((tuple(table), column))
            else:
                self._anywhere.append(column)

    def permits(self, column: Name | None, table: Sequence[Name] | None) -> bool:
        """Tell whether a column, or with None every column, may be read from a table, or with None from whichever."""
        found = [*self._anywhere]
        if table is not None:
            found += [name for owner, name in self._of_tables if is_called(table, owner)]
        return not self.limited or any(name == _ANY or (column is not None and column.means(name)) for name in found)


class Functions:
    """Permitted functions by name, or None for all that are not dangerous."""

    def __init__(self, permitted: Iterable[str] | None) -> None:
        names = _names(permitted, "functions")
        self._permitted = None if names is None else {name.casefold() for name in names}

    def permits(self, names: Iterable[str], *, in_table_place: bool = False) -> bool:
        """Tell whether a function that goes by any of these names may be called."""
        spelt = {name.casefold() for name in names}
        if self._permitted is not None:
            return bool(spelt & self._permitted)
        return not in_table_place or bool(spelt & _ROW_MAKERS)

    @staticmethod
    def dangerous(name: str) -> bool:
        """Tell whether a function reaches files, other servers or other statements, waits, or changes something."""
        name = name.casefold()
        return name in _DANGEROUS or (name.startswith(_DANGEROUS_PREFIXES) and name not in _HARMLESS)


def is_called(parts: Sequence[Name], permitted: Sequence[str]) -> bool:
    """Tell whether a name of several parts is the one that was permitted."""
    return len(parts) == len(permitted) and all(
        wanted == _ANY or part.means(wanted) for part, wanted in zip(parts, permitted, strict=True)
    )


def _names(permitted: Iterable[str] | None, what: str) -> tuple[str, ...] | None:
    if permitted is None:
        return None
    # One text would be taken for its letters.
    names: tuple[object, ...] = (None,) if isinstance(permitted, str) else tuple(permitted)
    found = tuple(name for name in names if isinstance(name, str) and all(name.split(".")))
    if len(found) < len(names):
        raise DeclarationError(
            f"sql_gate: {what} must be a list of names like 'orders' or 'sales.orders', or None for any"
        )
    return found


#: Functions in the place of a table that make rows of their arguments and read nothing else.
_ROW_MAKERS = words(
    "unnest generate_series explode explode_outer posexplode flatten json_table json_each json_each_text jsonb_each"
    " jsonb_each_text json_array_elements json_array_elements_text jsonb_array_elements jsonb_array_elements_text"
    " jsonb_to_recordset json_to_recordset jsonb_object_keys json_object_keys json_tree string_split openjson"
    " regexp_split_to_table string_to_table sequence range exploding_generate_series generate_date_array"
    " generate_timestamp_array split_to_table"
)

_DANGEROUS_PREFIXES = (
    "xp_",
    "sp_",
    "fn_",
    "dbms_",
    "utl_",
    "pg_",
    "lo_",
    "dblink",
    "sys_",
    "read_",
    "query_to_",
    "cursor_to_",
    "table_to_xml",
    "schema_to_xml",
    "database_to_xml",
    "httpuri",
    "http_",
)
_HARMLESS = words(
    "pg_typeof pg_size_pretty pg_column_size pg_relation_size pg_total_relation_size pg_table_size pg_database_size"
    " sys_extract_utc sys_guid sys_connect_by_path"
)
_DANGEROUS = words(
    # PostgreSQL and its kin
    "set_config setval nextval ts_stat lowrite loread copy_to_file binary_upgrade_create_empty_extension"
    # MySQL, MariaDB
    " load_file sleep benchmark get_lock release_lock release_all_locks is_free_lock is_used_lock"
    " master_pos_wait source_pos_wait wait_for_executed_gtid_set last_insert_id"
    # SQLite
    " load_extension readfile writefile edit fts3_tokenizer zipfile fsdir sqlar_uncompress eval"
    # SQL Server
    " openrowset openquery opendatasource openxml bulkcolumn"
    # Oracle
    " extractvalue xmltype ctxsys bfilename"
    # DuckDB, ClickHouse
    " getenv glob parquet_scan parquet_metadata parquet_schema parquet_file_metadata parquet_kv_metadata sniff_csv"
    " csv_scan json_scan sqlite_scan postgres_scan postgres_query postgres_execute mysql_scan mysql_query mysql_execute"
    " iceberg_scan delta_scan st_read query query_table query_mutate shellfs_scan url urlcluster file filecluster s3"
    " s3cluster gcs hdfs hdfscluster remote remotesecure mysql postgresql sqlite mongodb redis jdbc odbc executable"
    " input azureblobstorage deltalake iceberg hudi merge cluster clusterallreplicas dictionary viewifpermitted"
    # Spark, Hive, Trino, Snowflake, BigQuery
    " java_method reflect try_reflect external_query result_scan raw_query system$typeof system$wait"
    " system$cancel_query system$abort_session ml.predict"
)
