"""Settings of the files that accounts upload and keep: see `core.file_limits`."""

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from balcao.core.file_limits import MEGABYTE, FileLimits


class FilesOfPlan(BaseModel):
    """Limits on the files of each account of one plan (contract 13.8)."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    file_mb: int = Field(
        ge=1, le=100, description="Tamanho máximo de um arquivo de lote, em megabytes."
    )
    kept_mb: int = Field(
        ge=1,
        description="Espaço máximo dos arquivos e linhas dos lotes da conta, em megabytes.",
    )
    open_batches: int = Field(ge=1, description="Máximo de lotes em aberto.")
    unread_files: int = Field(ge=1, description="Máximo de arquivos recebidos na fila de leitura.")
    cells: int = Field(ge=1, description="Máximo de células de um arquivo de lote.")
    result_files: int = Field(
        ge=1, description="Máximo de downloads simultâneos de resultados e extratos."
    )

    @field_validator("kept_mb")
    @classmethod
    def _holds_one_file(cls, kept_mb: int, info: ValidationInfo) -> int:
        """Refuse a total smaller than the largest file, which would be useless."""
        file_mb = info.data.get("file_mb", kept_mb)
        if kept_mb < file_mb:
            raise ValueError(f"deve ser pelo menos file_mb, que é {file_mb}")
        return kept_mb

    @property
    def limits(self) -> FileLimits:
        """The limits in bytes."""
        return FileLimits(
            self.file_mb * MEGABYTE,
            self.kept_mb * MEGABYTE,
            self.open_batches,
            self.unread_files,
            self.cells,
            self.result_files,
        )


def _of(
    file_mb: int, kept_mb: int, batches: tuple[int, int], cells: int, results: int
) -> FilesOfPlan:
    open_batches, unread_files = batches
    return FilesOfPlan(
        file_mb=file_mb,
        kept_mb=kept_mb,
        open_batches=open_batches,
        unread_files=unread_files,
        cells=cells,
        result_files=results,
    )


GRATUITO = _of(10, 50, (10, 3), 2_000_000, 2)
PRE_PAGO = _of(100, 4_000, (100, 20), 20_000_000, 4)
POS_PAGO = _of(100, 20_000, (500, 50), 20_000_000, 8)
