"""Series of DICOM made by pydicom, for tests."""

import os
import sys
from dataclasses import dataclass, field

import numpy as np
import pytest

pydicom = pytest.importorskip("pydicom")
from pydicom.dataset import Dataset, FileMetaDataset  # noqa: E402
from pydicom.uid import (  # noqa: E402
    CTImageStorage,
    EnhancedCTImageStorage,
    ExplicitVRBigEndian,
    ExplicitVRLittleEndian,
    ImplicitVRLittleEndian,
    MRImageStorage,
    generate_uid,
)

# The programs that Lobule looks for may lie beside the Python that runs the tests; behind the scripts there are those
# that do the work, which start faster.
FOLDERS = [os.path.dirname(sys.executable), *(os.path.join(path, name) for path in sys.path for name in ("dcmqi/bin", "dcm2niix"))]
os.environ["PATH"] = os.pathsep.join([*filter(os.path.isdir, FOLDERS[::-1]), os.environ.get("PATH", "")])


@dataclass
class Series:
    """Voxels (slice, row, column) as they are stored, and where they lie in the patient (LPS, mm)."""

    voxels: np.ndarray
    spacing: tuple = (1.0, 1.5, 2.5)  # of columns, rows, slices
    orientation: tuple = (1, 0, 0, 0, 1, 0)
    position: tuple = (-40.0, -50.0, -60.0)
    modality: str = "CT"
    slope: float = 1.0
    inter: float = -1024.0
    thickness: float = 0.0  # 0: as far as the slices are apart
    places: list = field(default_factory=list)  # of slices along the normal, in mm; empty: even
    number: int = 3
    description: str = "abdomen"
    syntax: str = ExplicitVRLittleEndian
    study: str = field(default_factory=generate_uid)
    patient: str = "P1"
    uid: str = field(default_factory=generate_uid)
    frame_of_reference: str = field(default_factory=generate_uid)
    images: list = field(default_factory=list)  # UIDs, of those that were written

    def normal(self):
        return np.cross(self.orientation[:3], self.orientation[3:])

    def place(self, k):
        return self.places[k] if self.places else k * self.spacing[2]

    def corner(self, k):
        """Where the first voxel of slice k lies."""
        return np.array(self.position) + self.normal() * self.place(k)

    def world(self, k, row, column):
        """A voxel's place in RAS, as NIfTI has it."""
        along, down = np.array(self.orientation[:3], float), np.array(self.orientation[3:], float)
        lps = self.corner(k) + along * column * self.spacing[0] + down * row * self.spacing[1]
        return lps * [-1, -1, 1]

    def common(self, storage):
        d = Dataset()
        d.file_meta = FileMetaDataset()
        d.file_meta.TransferSyntaxUID = self.syntax
        d.file_meta.MediaStorageSOPClassUID = d.SOPClassUID = storage
        d.file_meta.MediaStorageSOPInstanceUID = d.SOPInstanceUID = generate_uid()
        d.PatientID, d.PatientName, d.PatientBirthDate, d.PatientSex = self.patient, "Doe^Jane", "19700101", "F"
        d.StudyInstanceUID, d.SeriesInstanceUID, d.FrameOfReferenceUID = self.study, self.uid, self.frame_of_reference
        d.StudyDate = d.SeriesDate = d.ContentDate = d.AcquisitionDate = "20240102"
        d.StudyTime = d.SeriesTime = d.ContentTime = d.AcquisitionTime = "120102"
        d.AccessionNumber, d.StudyID, d.ReferringPhysicianName, d.PositionReferenceIndicator = "A1", "1", "", ""
        d.Manufacturer, d.Modality, d.PatientPosition = "Acme", self.modality, "HFS"
        d.SeriesNumber, d.SeriesDescription = self.number, self.description
        d.ImageType = ["ORIGINAL", "PRIMARY", "AXIAL"]
        if self.modality == "CT":
            d.KVP = 120
        else:
            d.ScanningSequence, d.SequenceVariant, d.ScanOptions, d.MRAcquisitionType = "GR", "SP", "", "3D"
            d.EchoTime, d.RepetitionTime, d.EchoTrainLength, d.MagneticFieldStrength = 2, 5, 1, 1.5
        d.SamplesPerPixel, d.PhotometricInterpretation = 1, "MONOCHROME2"
        d.Rows, d.Columns = self.voxels.shape[1:]
        d.BitsAllocated, d.BitsStored, d.HighBit = 16, 16, 15
        d.PixelRepresentation = int(self.voxels.dtype.kind == "i")
        return d

    def pixels(self, array):
        order = ">" if self.syntax == ExplicitVRBigEndian else "<"
        return array.astype(array.dtype.newbyteorder(order)).tobytes()

    def rescale(self, d):
        d.RescaleIntercept, d.RescaleSlope, d.RescaleType = self.inter, self.slope, "HU"

    def save(self, folder, slices=None, name="IM{:04d}.dcm"):
        """A file a slice: slices and their order. Those that are left out are missing."""
        folder.mkdir(parents=True, exist_ok=True)
        for file, k in enumerate(slices if slices is not None else range(len(self.voxels))):
            d = self.common(CTImageStorage if self.modality == "CT" else MRImageStorage)
            d.InstanceNumber, d.AcquisitionNumber = k + 1, 1
            d.PixelSpacing = [self.spacing[1], self.spacing[0]]
            d.SliceThickness = self.thickness or self.spacing[2]
            d.ImageOrientationPatient = list(self.orientation)
            d.ImagePositionPatient = [round(float(x), 6) for x in self.corner(k)]
            if self.modality == "CT":
                self.rescale(d)
            d.PixelData = self.pixels(self.voxels[k])
            d["PixelData"].VR = "OW"
            self.images.append(d.SOPInstanceUID)
            if self.syntax == ImplicitVRLittleEndian:  # as old writers have it: no preamble, no file meta
                del d.file_meta
                pydicom.dcmwrite(folder / name.format(file), d, implicit_vr=True, little_endian=True)
            else:
                d.save_as(folder / name.format(file), enforce_file_format=True)
        return folder

    def save_frames(self, path):
        """All slices as the frames of one file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        d = self.common(EnhancedCTImageStorage)
        d.InstanceNumber, d.NumberOfFrames = 1, len(self.voxels)
        shared, orientation, measures, values = Dataset(), Dataset(), Dataset(), Dataset()
        orientation.ImageOrientationPatient = list(self.orientation)
        measures.PixelSpacing, measures.SliceThickness = [self.spacing[1], self.spacing[0]], self.spacing[2]
        measures.SpacingBetweenSlices = self.spacing[2]
        self.rescale(values)
        shared.PlaneOrientationSequence, shared.PixelMeasuresSequence = [orientation], [measures]
        shared.PixelValueTransformationSequence = [values]
        d.SharedFunctionalGroupsSequence = [shared]
        d.PerFrameFunctionalGroupsSequence = []
        for k in range(len(self.voxels)):
            frame, content, position = Dataset(), Dataset(), Dataset()
            content.StackID, content.InStackPositionNumber, content.DimensionIndexValues = "1", k + 1, [1, k + 1]
            position.ImagePositionPatient = [round(float(x), 6) for x in self.corner(k)]
            frame.FrameContentSequence, frame.PlanePositionSequence = [content], [position]
            d.PerFrameFunctionalGroupsSequence.append(frame)
        d.PixelData = self.pixels(self.voxels)
        d["PixelData"].VR = "OW"
        self.images.append(d.SOPInstanceUID)
        d.save_as(path, enforce_file_format=True)
        return path


def blobs(shape=(14, 40, 36), seed=5, dtype=np.uint16):
    """Voxels of a soft body with two bright organs in it."""
    draws = np.random.default_rng(seed)
    z, y, x = np.ogrid[tuple(slice(n) for n in shape)]

    def ball(at, radius):
        return sum(((c - a * n) / (r * n)) ** 2 for c, a, n, r in zip((z, y, x), at, shape, radius)) < 1

    voxels = np.full(shape, 100.0)
    voxels[ball((0.5, 0.5, 0.5), (0.6, 0.45, 0.45))] = 1000
    voxels[ball((0.45, 0.4, 0.35), (0.3, 0.2, 0.2))] = 1150
    voxels[ball((0.55, 0.6, 0.7), (0.2, 0.15, 0.12))] = 1300
    return np.clip(voxels + draws.normal(0, 15, shape), 0, 4000).round().astype(dtype)
